import WorkerKit

/// Reads a file from front to back in blocks.
struct ByteSource {
  private let file: InputFile
  private var block: [UInt8] = []
  private var position = 0
  /// How many bytes have been handed out.
  private(set) var offset: Int64 = 0

  /// Where the record begins that is being read. One longer than `longestRecord` ends the reading: it would fill the
  /// memory.
  private var record: Int64 = 0
  private let longestRecord: Int64

  private static let blockSize = 256 * 1024

  /// A record is longer than it may be.
  struct RecordTooLong: Error, CustomStringConvertible {
    let bytes: Int64
    var description: String { "is longer than \(bytes >> 20) MiB" }
  }

  /// - Parameter longestRecord: the most bytes of a record; it may have up to a block more.
  init(path: String, longestRecord: Int64 = 64 << 20) throws {
    file = try InputFile(path)
    self.longestRecord = longestRecord
  }

  /// Notes that a record begins with the next byte.
  mutating func beginRecord() { record = offset }

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
    guard offset - record <= longestRecord else { throw RecordTooLong(bytes: longestRecord) }
    block = try file.nextBytes(atMost: Self.blockSize)
    position = 0
    return !block.isEmpty
  }
}
