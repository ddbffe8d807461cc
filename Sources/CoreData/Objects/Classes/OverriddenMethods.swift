/// The methods of `NSManagedObject` that a class overrides. Others need not be called for each value of each object.
enum OverriddenMethods {
  /// Whether calls of `validateValue(_:forKey:)` reach code of a subclass. True if that is unknown.
  static func validatesValues(_ type: NSManagedObject.Type) -> Bool {
    guard let validateValueSlot else { return true }
    return word(validateValueSlot, of: type) != word(validateValueSlot, of: NSManagedObject.self)
  }

  // A class's metadata holds its methods, an inherited one at the same place as in the superclass:
  // https://github.com/swiftlang/swift/blob/main/docs/ABI/TypeMetadata.rst#class-metadata. Comparing two subclasses
  // that only differ in overriding the method shows which word is the method's.

  private static let validateValueSlot: Int? = {
    let slots = (firstMember..<wordCount(of: NSManagedObject.self)).filter { slot in
      let inherited = word(slot, of: NSManagedObject.self)
      return word(slot, of: PlainObject.self) == inherited && word(slot, of: ValidatingObject.self) != inherited
    }
    return slots.count == 1 ? slots[0] : nil
  }()

  private class PlainObject: NSManagedObject {}

  private final class ValidatingObject: NSManagedObject {
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      try super.validateValue(&value, forKey: key)
    }
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
