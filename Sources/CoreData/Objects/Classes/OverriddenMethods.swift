/// The methods of `NSManagedObject` that a class overrides. Others need not be called for each value of each object:
/// that would take 9,800 instructions for each inserted row of five attributes.
///
/// A class's method table has the superclass's function where nothing is overridden, so one comparison of two words
/// answers. Which word belongs to which method is found by two subclasses that differ in overriding that method only:
///
/// ```text
/// place               0     1     2     3
/// NSManagedObject     a     b     c     d
/// Plain               a     b     c     d      overrides nothing
/// Waking              a     b     W     d      overrides awakeFromFetch(): its place is 2
/// program's class     a     B     c     d      overrides the method at 1, not awakeFromFetch()
/// ```
///
/// What is unknown counts as overridden: the method is called, which is slower and right.
///
/// Asked once for each layout (`EntityLayout.init`), not for each object.
enum OverriddenMethods {
  /// Methods that Core Data calls for many objects and whose own implementations do nothing, or do what the caller can
  /// do faster.
  enum Method: CaseIterable {
    case awakeFromFetch, validateValue, willSave, didSave, validateForInsert, validateForUpdate, validateForDelete
    case value, undefinedValue

    /// A subclass that overrides this method only.
    ///
    /// Its override calls super only, so that it would do no harm if it were called.
    fileprivate var probe: NSManagedObject.Type {
      switch self {
      case .awakeFromFetch: Waking.self
      case .validateValue: ValidatingValues.self
      case .willSave: Preparing.self
      case .didSave: Settling.self
      case .validateForInsert: ValidatingNew.self
      case .validateForUpdate: ValidatingChanged.self
      case .validateForDelete: ValidatingDeleted.self
      case .value: Reading.self
      case .undefinedValue: Computing.self
      }
    }
  }

  /// Whether calls of the method reach code of a subclass. True if that is unknown.
  ///
  /// O(1). A class that overrides a method in any of its superclasses below `NSManagedObject` counts.
  static func overrides(_ method: Method, _ type: NSManagedObject.Type) -> Bool {
    guard let place = places[method], let table = MethodTable(type), let base else { return true }
    return table[place] != base[place]
  }

  /// Nil if metadata has another layout than this module knows (`RuntimeAssumptions.methodTables`).
  private static let base = RuntimeAssumptions.methodTables.holds ? MethodTable(NSManagedObject.self) : nil

  /// Two subclasses that only differ in overriding a method show its place. A method that has not one place is unknown.
  private static let places: [Method: Int] = {
    guard let base, let plain = MethodTable(Plain.self) else { return [:] }
    var places: [Method: Int] = [:]
    for method in Method.allCases {
      guard let probe = MethodTable(method.probe) else { continue }
      let matchingPlaces = base.places(of: probe, butNotOf: plain)
      if matchingPlaces.count == 1 { places[method] = matchingPlaces[0] }
    }
    return places
  }()

  private class Plain: NSManagedObject {}

  private final class Waking: NSManagedObject {
    override func awakeFromFetch() { super.awakeFromFetch() }
  }

  private final class ValidatingValues: NSManagedObject {
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      try super.validateValue(&value, forKey: key)
    }
  }

  private final class Preparing: NSManagedObject {
    override func willSave() { super.willSave() }
  }

  private final class Settling: NSManagedObject {
    override func didSave() { super.didSave() }
  }

  private final class ValidatingNew: NSManagedObject {
    override func validateForInsert() throws { try super.validateForInsert() }
  }

  private final class ValidatingChanged: NSManagedObject {
    override func validateForUpdate() throws { try super.validateForUpdate() }
  }

  private final class ValidatingDeleted: NSManagedObject {
    override func validateForDelete() throws { try super.validateForDelete() }
  }

  private final class Reading: NSManagedObject {
    override func value(forKey key: String) -> Any? { super.value(forKey: key) }
  }

  private final class Computing: NSManagedObject {
    override func value(forUndefinedKey key: String) -> Any? { super.value(forUndefinedKey: key) }
  }
}
