/// Teaches Foundation's `NSCompoundPredicate` to print, compare and copy itself.
///
/// On Linux it inherits these methods from `NSPredicate`, for which any two compounds are equal, whose description is
/// an address and whose copy of a compound is never true. A subclass helps only where this module makes the predicate,
/// but programs create Foundation's class themselves. So this replaces the inherited methods in the class's method
/// table, as a category would on Apple's platforms.
///
/// The tables of two subclasses show the places of the methods. If they are not as expected, or if Foundation tells two
/// compounds apart by itself, its class stays as it is.
///
/// ```text
/// place                  3          7      8      9      12     13
/// NSCompoundPredicate    isEqual    hash   desc.  format copy   copy(with:)    NSPredicate's functions
/// Plain: Compound        the same functions: it overrides nothing
/// Taught: Compound       six other functions, at these places
/// after teach()          NSCompoundPredicate has Taught's functions at these places
/// ```
///
/// (The numbers are examples.) A call through an `NSPredicate` variable loads the function from the object's class, so
/// it meets the new one; calls that the compiler has bound to a known final class do not exist, since the class is
/// open.
///
/// It matters here because fetched results keep a predicate's text in their cache, and because programs print and
/// compare predicates.
enum FoundationCompound {
  /// Replaces the methods, once: the second call is a load and a test. Called where a predicate is set or made:
  /// `NSFetchRequest.predicate`, formats, archived models.
  static func teach() { _ = RuntimeAssumptions.compoundPredicates }

  /// The number of methods that are replaced.
  ///
  /// Part of the check: another number of places means that the tables are not as expected, and Foundation's class
  /// stays as it is.
  static let methodCount = 6

  /// Whether the methods are replaced, or need not be. `RuntimeAssumptions` asks once.
  ///
  /// The first test is the fault itself: an AND without parts equal to an OR without parts.
  static func isTaught() -> Bool {
    guard NSCompoundPredicate(type: .and, subpredicates: []) == NSCompoundPredicate(type: .or, subpredicates: []) else {
      return true
    }
    guard RuntimeAssumptions.methodTables.holds, let foundation = MethodTable(NSCompoundPredicate.self),
      let plain = MethodTable(Plain.self), let taught = MethodTable(Taught.self)
    else { return false }
    let places = foundation.places(of: taught, butNotOf: plain)
    return places.count == methodCount && foundation.replace(at: places, with: taught)
  }

  /// Overrides nothing, so what differs in `Taught` differs by its overrides.
  private final class Plain: NSCompoundPredicate {}

  /// The methods run with Foundation's compounds as `self`, so they use nothing of this class.
  ///
  /// `self` is really a `NSCompoundPredicate` of Foundation: a stored property or a cast to `Taught` would be wrong
  /// memory. So each method calls a static function with `self` as a predicate.
  private final class Taught: NSCompoundPredicate {
    override func isEqual(_ object: Any?) -> Bool { FoundationCompound.isEqual(self, object) }

    override var hash: Int { FoundationCompound.format(self).hashValue }

    override var description: String { FoundationCompound.format(self) }

    override var predicateFormat: String { FoundationCompound.format(self) }

    override func copy() -> Any { FoundationCompound.identity(self) }

    override func copy(with zone: NSZone? = nil) -> Any { FoundationCompound.identity(self) }
  }

  /// Not inlined: the optimiser might otherwise specialise the body for `Taught`, whose type the caller seems to have.
  @inline(never) private static func isEqual(_ predicate: NSPredicate, _ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return predicate.isStructurallyEqual(to: other)
  }

  @inline(never) private static func format(_ predicate: NSPredicate) -> String { predicate.canonicalFormat }

  /// A compound is immutable, so it is its own copy.
  @inline(never) private static func identity(_ predicate: NSPredicate) -> NSPredicate { predicate }
}
