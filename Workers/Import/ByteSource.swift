import CoreData

/// Reads a file from front to back in blocks.
struct ByteSource {
  private let handle: FileHandle
  private var block: [UInt8] = []
  private var position = 0
  /// How many bytes have been handed out.
  private(set) var offset: Int64 = 0

  private static let blockSize = 256 * 1024

  init(path: String) throws {
    handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
  }

  /// The next byte, or nil at the end.
  @inline(__always)
  mutating func next() throws -> UInt8? {
    if position == block.count {
      guard try fill() else { return nil }
    }
    let byte = block[position]
    position += 1
    offset += 1
    return byte
  }

  /// The next byte, which stays there; nil at the end.
  mutating func peek() throws -> UInt8? {
    if position == block.count {
      guard try fill() else { return nil }
    }
    return block[position]
  }

  private mutating func fill() throws -> Bool {
    guard let data = try handle.read(upToCount: Self.blockSize), !data.isEmpty else { return false }
    block = Array(data)
    position = 0
    return true
  }
}
