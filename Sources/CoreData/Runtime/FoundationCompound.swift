/// Teaches Foundation's `NSCompoundPredicate` to print, compare and copy itself.
///
/// On Linux it inherits these methods from `NSPredicate`, for which any two compounds are equal, whose description is
/// an address and whose copy of a compound is never true. A subclass helps only where this module makes the predicate,
/// but programs create Foundation's class themselves. So this replaces the inherited methods in the class's method
/// table, as a category would on Apple's platforms.
///
/// The tables of two subclasses show the places of the methods. If they are not as expected, or if Foundation tells two
/// compounds apart by itself, its class stays as it is.
enum FoundationCompound {
  /// Replaces the methods, once. Everything that makes or keeps a predicate here asks first.
  static func teach() { _ = RuntimeAssumptions.compoundPredicates }

  /// The number of methods that are replaced.
  static let methodCount = 6

  /// Whether the methods are replaced, or need not be. `RuntimeAssumptions` asks once.
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

  private final class Plain: NSCompoundPredicate {}

  /// The methods run with Foundation's compounds as `self`, so they use nothing of this class.
  private final class Taught: NSCompoundPredicate {
    override func isEqual(_ object: Any?) -> Bool { FoundationCompound.isEqual(self, object) }

    override var hash: Int { FoundationCompound.format(self).hashValue }

    override var description: String { FoundationCompound.format(self) }

    override var predicateFormat: String { FoundationCompound.format(self) }

    override func copy() -> Any { FoundationCompound.identity(self) }

    override func copy(with zone: NSZone? = nil) -> Any { FoundationCompound.identity(self) }
  }

  @inline(never) private static func isEqual(_ predicate: NSPredicate, _ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return predicate.isStructurallyEqual(to: other)
  }

  @inline(never) private static func format(_ predicate: NSPredicate) -> String { predicate.canonicalFormat }

  /// A compound is immutable, so it is its own copy.
  @inline(never) private static func identity(_ predicate: NSPredicate) -> NSPredicate { predicate }
}
