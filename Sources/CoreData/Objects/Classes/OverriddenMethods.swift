/// The methods of `NSManagedObject` that a class overrides. Others need not be called for each value of each object: that
/// would take 9,800 instructions for each inserted row of five attributes.
enum OverriddenMethods {
  enum Method: CaseIterable {
    case awakeFromFetch, validateValue, willSave, didSave, validateForInsert, validateForUpdate, validateForDelete
    case value, undefinedValue

    /// A subclass that overrides this method only.
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
  static func overrides(_ method: Method, _ type: NSManagedObject.Type) -> Bool {
    guard let slot = slots[method] else { return true }
    return word(slot, of: type) != word(slot, of: NSManagedObject.self)
  }

  // A class's metadata holds its methods, an inherited one at the same place as in the superclass:
  // https://github.com/swiftlang/swift/blob/main/docs/ABI/TypeMetadata.rst#class-metadata. Comparing two subclasses
  // that only differ in overriding the method shows which word is the method's.

  private static let slots: [Method: Int] = {
    var slots: [Method: Int] = [:]
    for method in Method.allCases { slots[method] = slot(of: method) }
    return slots
  }()

  private static func slot(of method: Method) -> Int? {
    let slots = (firstMember..<wordCount(of: NSManagedObject.self)).filter { slot in
      let inherited = word(slot, of: NSManagedObject.self)
      return word(slot, of: Plain.self) == inherited && word(slot, of: method.probe) != inherited
    }
    return slots.count == 1 ? slots[0] : nil
  }

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

  /// The words before it are the class's kind, superclass, sizes and description.
  private static let firstMember = 7

  private static func word(_ index: Int, of type: NSManagedObject.Type) -> UInt {
    unsafeBitCast(type, to: UnsafePointer<UInt>.self)[index]
  }

  /// The number of words from the class's address to the end of its metadata.
  private static func wordCount(of type: NSManagedObject.Type) -> Int {
    let sizes = unsafeBitCast(type, to: UnsafeRawPointer.self)
    let size = sizes.load(fromByteOffset: 32, as: UInt32.self)
    let address = sizes.load(fromByteOffset: 36, as: UInt32.self)
    return Int(size - address) / MemoryLayout<UInt>.size
  }
}
