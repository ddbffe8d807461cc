internal import Glibc

/// Teaches Foundation's `NSCompoundPredicate` to print, compare and copy itself.
///
/// On Linux it inherits these methods from `NSPredicate`, for which any two compounds are equal, whose description is
/// an address and whose copy of a compound is never true. A subclass helps only where this module makes the predicate,
/// but programs create Foundation's class themselves. So this replaces the inherited methods in the class's method
/// table, as a category would on Apple's platforms.
///
/// Source: the layout of class metadata in Swift's docs/ABI/TypeMetadata.rst. `isTaught` compares the tables of two
/// subclasses to find the places of the methods; if they are not as expected, Foundation's class stays as it is.
enum FoundationCompound {
  /// Replaces the methods, once. Everything that makes or keeps a predicate here asks first.
  static func teach() { _ = isTaught }

  private static let isTaught: Bool = {
    let foundation = MethodTable(NSCompoundPredicate.self)
    let plain = MethodTable(Plain.self)
    let taught = MethodTable(Taught.self)
    let count = min(foundation.count, plain.count, taught.count)
    let places = (0..<count).filter { taught[$0] != plain[$0] && plain[$0] == foundation[$0] }
    guard places.count == Taught.methodCount, foundation.makeWritable() else { return false }
    for place in places { foundation.replace(place, by: taught[place]) }
    return true
  }()

  private final class Plain: NSCompoundPredicate {}

  /// The methods run with Foundation's compounds as `self`, so they use nothing of this class.
  private final class Taught: NSCompoundPredicate {
    static let methodCount = 6

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

/// The methods of a class, which its metadata lists after a header of fixed size.
private struct MethodTable {
  private let words: UnsafeMutablePointer<UInt>
  let count: Int

  private enum Layout {
    /// The bytes of the size of the whole metadata, and of the part before the address of the class.
    static let size = 32
    static let addressPoint = 36
    /// Kind, superclass, flags and sizes (three words), description and destroyer.
    static let headerWords = 7
  }

  init(_ type: NSPredicate.Type) {
    let metadata = unsafeBitCast(type as AnyClass, to: UnsafeMutableRawPointer.self)
    let size = metadata.load(fromByteOffset: Layout.size, as: UInt32.self)
    let before = metadata.load(fromByteOffset: Layout.addressPoint, as: UInt32.self)
    let wordSize = MemoryLayout<UInt>.size
    words = (metadata + Layout.headerWords * wordSize).assumingMemoryBound(to: UInt.self)
    count = max(0, (Int(size) - Int(before)) / wordSize - Layout.headerWords)
  }

  subscript(index: Int) -> UInt { words[index] }

  /// The linker may have made the table read-only. False if it stays so.
  func makeWritable() -> Bool {
    let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
    let start = UInt(bitPattern: words)
    let first = start / page * page
    let end = start + UInt(count * MemoryLayout<UInt>.size)
    return mprotect(UnsafeMutableRawPointer(bitPattern: first), Int(end - first), PROT_READ | PROT_WRITE) == 0
  }

  /// A word is written at once, so other threads call the old method or the new one.
  func replace(_ index: Int, by method: UInt) { words[index] = method }
}
