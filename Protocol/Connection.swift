import CSystem
import Glibc

/// One end of a conversation: a non-blocking socket, the lines that have arrived and the bytes still to be sent.
///
/// Nothing here waits. `send` only adds to a buffer; `flush` writes what the kernel takes. Use it from one thread.
public final class Connection {
  /// What reading found.
  public enum Received: Equatable, Sendable {
    /// Whole lines; more may come.
    case lines([String])
    /// The peer closed its end, after these last lines.
    case closed([String])
  }

  /// The socket, which this object closes.
  public let descriptor: Int32
  private var decoder: LineDecoder
  private var outgoing: [UInt8] = []
  /// How many bytes at the start of `outgoing` the kernel has taken.
  private var sent = 0
  private var isClosed = false
  /// How the stream ended, kept until the lines before the end are handed over.
  private var end: Ending?
  /// Why a send failed although the peer was there. The connection ended then.
  public private(set) var failure: SystemCallError?
  private var chunk = [UInt8](repeating: 0, count: readShare)

  /// The bytes that one `receive` reads at most: the share that a peer has of a turn.
  public static let readShare = 65_536
  /// Sent bytes that are kept before the buffer is moved up, when they are the larger part of it.
  private static let sentBytesKept = 65_536

  private enum Ending {
    case closed
    case failed(MessageError)
  }

  /// Takes over a connected stream socket and makes it non-blocking.
  public init(descriptor: Int32, lineLimit: Int = ProtocolLimit.lineBytes) throws(SystemCallError) {
    guard csystem_set_nonblocking(descriptor) == 0 else { throw SystemCallError("fcntl") }
    self.descriptor = descriptor
    decoder = LineDecoder(limit: lineLimit)
  }

  /// Goes on with a connection of the program before this one in the process.
  package convenience init(descriptor: Int32, _ buffers: Buffers) throws(SystemCallError) {
    try self.init(descriptor: descriptor)
    decoder.append(buffers.unread)
    outgoing = buffers.unsent
  }

  deinit { close() }

  /// What is in memory of a conversation.
  package struct Buffers: Codable, Equatable, Sendable {
    /// Bytes that have arrived, and of which no line was handed over.
    package var unread: [UInt8] = []
    /// Bytes that wait to be written.
    package var unsent: [UInt8] = []

    package init() {}
  }

  /// What another program needs to go on with the connection; nil when the stream has ended.
  package var buffers: Buffers? {
    guard end == nil, failure == nil, !isClosed else { return nil }
    var buffers = Buffers()
    buffers.unread = decoder.unread
    buffers.unsent = Array(outgoing[sent...])
    return buffers
  }

  /// The bytes that wait to be written.
  public var unsentBytes: Int { outgoing.count - sent }

  /// The bytes in memory for sending: those that wait, and sent ones that have not been let go. For tests, which check
  /// that a slow reader does not make it grow.
  package var sendBufferBytes: Int { outgoing.count }

  /// Whether `receive` has more to hand over that no event of the socket announces: call it again.
  public var hasMore: Bool { end != nil || decoder.hasLine }

  /// Reads what has arrived, up to 64 KiB, and hands over at most `limit` lines.
  ///
  /// The rest waits, here or in the socket, so that a peer that never stops cannot keep the caller. Throws
  /// `MessageError` for bytes that cannot be lines, after the lines before them have been handed over. A connection
  /// that was reset counts as closed: the peer is gone either way.
  public func receive(atMost limit: Int = .max) throws(MessageError) -> Received {
    if case .failed(let error) = end { throw error }
    var lines: [String] = []
    decode(into: &lines, limit)
    if end == nil, lines.count < limit {
      readOnce()
      decode(into: &lines, limit)
    }
    switch end {
    case .failed(let error) where lines.isEmpty: throw error
    case .closed where !decoder.hasLine: return .closed(lines)
    default: return .lines(lines)
    }
  }

  private func readOnce() {
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count > 0 { return decoder.append(chunk[..<count]) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      precondition(count == 0 || errno != EBADF, "a connection was used after it was closed")
      end = .closed
      return
    }
  }

  private func decode(into lines: inout [String], _ limit: Int) {
    do throws(MessageError) {
      while lines.count < limit, let line = try decoder.next() { lines.append(line) }
    } catch {
      end = .failed(error)
    }
  }

  /// Adds to what `flush` writes.
  public func send(_ encode: (inout [UInt8]) -> Void) {
    guard !isClosed else { return }
    encode(&outgoing)
  }

  /// Writes as much as the kernel takes now. `true` when everything is out; `false` when the socket must become
  /// writable first. A peer that is gone makes it `true`: nothing is left that could be sent, and reading tells.
  @discardableResult
  public func flush() -> Bool {
    while !isClosed, sent < outgoing.count {
      let count = outgoing.withUnsafeBytes { bytes in
        Glibc.send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 {
        sent += count
      } else if errno == EAGAIN {
        dropSent()
        return false
      } else if errno != EINTR {
        precondition(errno != EBADF, "a connection was used after it was closed")
        if errno != EPIPE, errno != ECONNRESET { failure = SystemCallError("send") }
        // A lost message must not go unnoticed: both sides find the end of the stream when they read.
        shutdown(descriptor, Int32(SHUT_RDWR))
        break
      }
    }
    outgoing.removeAll(keepingCapacity: true)
    sent = 0
    return true
  }

  /// Frees what was sent: a peer that never reads everything must not keep the whole stream in memory.
  private func dropSent() {
    guard sent > Self.sentBytesKept, sent > outgoing.count / 2 else { return }
    outgoing.removeFirst(sent)
    sent = 0
  }

  /// Closes the socket. More calls do nothing.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
  }
}
