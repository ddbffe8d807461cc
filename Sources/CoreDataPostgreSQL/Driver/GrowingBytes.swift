/// Memory for values in the server's format. An append costs a comparison and a copy.
///
/// `[UInt8]` would check with each append whether its memory is shared. This type is not copyable, so the memory has
/// one owner, which frees it. `clear` keeps it for the next row.
struct GrowingBytes: ~Copyable {
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int) {
    self.capacity = max(64, capacity)
    start = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { start.deallocate() }

  /// A copy of what was appended.
  var bytes: [UInt8] { Array(UnsafeRawBufferPointer(start: start, count: count)) }

  @inline(__always)
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { body(UnsafeRawBufferPointer(start: start, count: count)) }

  /// Forgets what was appended, and keeps the memory.
  mutating func clear() { count = 0 }

  /// Inlined, and the growth is not: nearly all appends find room, and then cost one comparison.
  @inline(__always)
  private mutating func makeRoom(_ more: Int) {
    if capacity - count < more { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    // Twice as much each time: a value of n bytes is copied a constant number of times.
    let newCapacity = max(capacity * 2, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    larger.copyMemory(from: start, byteCount: count)
    start.deallocate()
    (start, capacity) = (larger, newCapacity)
  }

  /// Appends a number in the byte order of the network, which all binary formats of the server have.
  @inline(__always)
  mutating func append<T: FixedWidthInteger & BitwiseCopyable>(bigEndian value: T) {
    makeRoom(MemoryLayout<T>.size)
    (start + count).storeBytes(of: value.bigEndian, as: T.self)
    count += MemoryLayout<T>.size
  }

  /// Appends bytes as they are: a text, or data. The caller has written their number before.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    makeRoom(bytes.count)
    (start + count).copyMemory(from: base, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends what the body writes. It gets the place behind the last byte and the number of bytes that fit there, which
  /// is not 0, and returns how many it has written.
  @inline(__always)
  mutating func fill(_ write: (UnsafeMutableRawPointer, Int) -> Int) {
    makeRoom(1)
    count += write(start + count, capacity - count)
  }
}
