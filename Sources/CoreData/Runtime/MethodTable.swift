internal import CSystem
internal import Glibc

/// The methods of a class, as its metadata lists them after a header of fixed size: an inherited method stands at the
/// same place as in the superclass.
///
/// ```text
/// class metadata, from its address
///   0  kind
///   8  superclass
///  16  flags (4), address of an instance's own start (4)
///  24  size of an instance (4), alignment (2), reserved (2)
///  32  size of the metadata (4), bytes before its address (4)
///  40  type descriptor
///  48  destroyer of instance variables
///  56  the root class's fields and methods, then those of each subclass
/// ```
///
/// The words from 56 on are not all methods: fields' offsets and generic arguments are among them. That does no harm,
/// since only places are compared at which two sample classes differ in an override.
///
/// `@unchecked Sendable`: metadata lives as long as the process, and its words are read and written one at a time.
///
/// Source: Swift's docs/ABI/TypeMetadata.md, "Class Metadata".
struct MethodTable: @unchecked Sendable {
  /// Where the parts of a class's metadata are, in bytes.
  ///
  /// A parameter of the check, so that a test can see it fail with another layout.
  struct Layout {
    /// The size of the whole metadata, and of the part before the class's address.
    var size = 32
    var addressPoint = 36
    /// Kind, superclass, flags and sizes, description and destroyer.
    var header = 56
  }

  private let words: UnsafeMutablePointer<UInt>
  let count: Int

  /// Nil if the metadata has a size that no class has.
  ///
  /// The size of the metadata counts the part before its address, the value witnesses and the like, which is taken off.
  init?(_ type: AnyClass, layout: Layout = Layout()) {
    let metadata = unsafeBitCast(type, to: UnsafeMutableRawPointer.self)
    let size = Int(metadata.load(fromByteOffset: layout.size, as: UInt32.self))
    let before = Int(metadata.load(fromByteOffset: layout.addressPoint, as: UInt32.self))
    let bytes = size - before - layout.header
    guard (0...MethodTable.largest).contains(bytes) else { return nil }
    words = (metadata + layout.header).assumingMemoryBound(to: UInt.self)
    count = bytes / MemoryLayout<UInt>.size
  }

  /// The bytes of more methods than a class has: more means that the numbers read are not sizes.
  private static let largest = 1 << 16

  subscript(index: Int) -> UInt { words[index] }

  /// The places where a subclass has other methods than another one, which has the superclass's there.
  ///
  /// Both conditions are needed: a subclass's metadata may differ from the superclass's for other reasons, and then
  /// `plain` differs as well.
  func places(of overriding: MethodTable, butNotOf plain: MethodTable) -> [Int] {
    (0..<min(count, overriding.count, plain.count)).filter {
      plain[$0] == self[$0] && overriding[$0] != self[$0]
    }
  }

  // MARK: Replacing

  /// Puts the methods of another table into this one, at these places. Other threads call the old method or the new
  /// one.
  ///
  /// ```text
  /// thread that replaces              thread that calls
  ///                                   loads the word at 7: the old function
  /// words[7] = the new function
  ///                                   calls the old one, to its end
  ///                                   loads the word at 7: the new function
  /// ```
  ///
  /// A word of eight bytes at a multiple of eight is written as a whole on both processors that Swift for Linux has, so
  /// no thread sees half an address. `mprotect(2)` works on whole pages; other data of the page is writable for that
  /// moment too.
  ///
  /// - Returns: false if the table cannot be written; nothing is changed then.
  func replace(at places: [Int], with other: MethodTable) -> Bool {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let start = Int(bitPattern: words) / page * page
    let length = Int(bitPattern: words + count) - start
    let pages = UnsafeMutableRawPointer(bitPattern: start)
    // The linker makes tables read-only that it has to relocate. Such a page is read-only again afterwards.
    let isReadOnly = csystem_is_relro(words)
    if isReadOnly && mprotect(pages, length, PROT_READ | PROT_WRITE) != 0 { return false }
    for place in places { words[place] = other[place] }
    // Should it fail, the page stays writable, as others of the program are.
    if isReadOnly { mprotect(pages, length, PROT_READ) }
    return true
  }

  // MARK: The assumption

  /// Whether the tables of sample classes are as they must be. `RuntimeAssumptions` asks once.
  ///
  /// Two overriding classes, so that a place is not found by accident: the first one's place must be among the second
  /// one's.
  static func isReadable(_ layout: Layout = Layout()) -> Bool {
    guard let sample = MethodTable(NSObject.self, layout: layout), let plain = MethodTable(Plain.self, layout: layout),
      let first = MethodTable(First.self, layout: layout), let both = MethodTable(Both.self, layout: layout)
    else { return false }
    let one = sample.places(of: first, butNotOf: plain)
    let two = sample.places(of: both, butNotOf: plain)
    return one.count == 1 && two.count == 2 && two.contains(one[0])
  }

  // They override methods of another module: the optimiser removes methods that nothing can call.

  private final class Plain: NSObject {}

  private final class First: NSObject { override func isEqual(_ object: Any?) -> Bool { object != nil } }

  private final class Both: NSObject {
    override func isEqual(_ object: Any?) -> Bool { object == nil }
    override func copy() -> Any { self }
  }
}
