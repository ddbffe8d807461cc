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
  private var sent = 0
  private var isClosed = false
  /// Why something could not be sent though the peer was there, which ended the connection.
  public private(set) var failure: SystemCallError?
  private var chunk = [UInt8](repeating: 0, count: 65_536)

  /// Takes over a connected stream socket and makes it non-blocking.
  public init(descriptor: Int32, lineLimit: Int = ProtocolLimit.lineBytes) throws(SystemCallError) {
    guard csystem_set_nonblocking(descriptor) == 0 else { throw SystemCallError("fcntl") }
    self.descriptor = descriptor
    decoder = LineDecoder(limit: lineLimit)
  }

  deinit { close() }

  /// The bytes that wait to be written.
  public var unsentBytes: Int { outgoing.count - sent }

  /// Reads all that has arrived. Throws `MessageError` for bytes that cannot be lines.
  ///
  /// A connection that was reset counts as closed: the peer is gone either way.
  public func receive() throws(MessageError) -> Received {
    var lines: [String] = []
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count > 0 {
        decoder.append(chunk[..<count])
        while let line = try decoder.next() { lines.append(line) }
        if count < chunk.count { return .lines(lines) }
      } else if count < 0, errno == EINTR {
        continue
      } else if count < 0, errno == EAGAIN {
        return .lines(lines)
      } else {
        precondition(count == 0 || errno != EBADF, "a connection was used after it was closed")
        return .closed(lines)
      }
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
        return false
      } else if errno != EINTR {
        precondition(errno != EBADF, "a connection was used after it was closed")
        if errno != EPIPE, errno != ECONNRESET { failure = SystemCallError("send") }
        // What cannot be sent must not be missing in silence: reading finds the end, on both sides.
        shutdown(descriptor, Int32(SHUT_RDWR))
        break
      }
    }
    outgoing.removeAll(keepingCapacity: true)
    sent = 0
    return true
  }

  /// Closes the socket. More calls do nothing.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
  }
}
