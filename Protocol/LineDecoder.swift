import Glibc

/// Cuts a stream of bytes into lines: hands over a whole line or asks for more, never half of one.
///
/// Feed it what the socket gave with `append`, then call `next` until it returns `nil`. A line that cannot be valid is
/// reported as soon as that is known; after an error the stream has no known boundary any more and must be closed.
public struct LineDecoder: Sendable {
  private var buffer: [UInt8] = []
  /// Where the first byte not yet handed over stands.
  private var start = 0
  /// Up to where the search for a newline has come, so that a line fed byte by byte is searched once.
  private var searched = 0
  private let limit: Int

  /// Makes a decoder for lines of at most `limit` bytes, their newline included.
  public init(limit: Int = ProtocolLimit.lineBytes) {
    self.limit = limit
  }

  /// The bytes received that do not yet make a line.
  package var pendingBytes: Int { buffer.count - start }

  /// The bytes received that were not handed over.
  package var unread: [UInt8] { Array(buffer[start...]) }

  /// Whether `next` has a whole line, or an error for one, without more bytes.
  public var hasLine: Bool { newline != nil }

  /// The position of the next newline.
  private var newline: Int? {
    buffer.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let lineEnd = memchr(base + searched, 0x0A, bytes.count - searched) else {
        return nil
      }
      return UnsafeRawPointer(lineEnd) - base
    }
  }

  /// Bytes handed over that are kept at the start of the buffer, when they are the larger part of it: the rest is moved
  /// up seldom.
  private static let keptBytes = 65_536

  /// Takes more bytes of the stream.
  public mutating func append(_ bytes: some Collection<UInt8>) {
    if start == buffer.count {
      buffer.removeAll(keepingCapacity: true)
      searched = 0
      start = 0
    } else if start > Self.keptBytes, start > buffer.count / 2 {
      buffer.removeFirst(start)
      searched -= start
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The next whole line without its newline, or `nil` when more bytes are needed.
  ///
  /// Throws `MessageError.lineTooLong` or `.invalidUTF8`.
  public mutating func next() throws(MessageError) -> String? {
    guard let newline else {
      searched = buffer.count
      if pendingBytes >= limit { throw .lineTooLong(limit: limit) }
      return nil
    }
    if newline + 1 - start > limit { throw .lineTooLong(limit: limit) }
    guard let line = String(validating: buffer[start..<newline], as: UTF8.self) else { throw .invalidUTF8 }
    start = newline + 1
    searched = start
    return line
  }
}
