import Dispatch
import Glibc
import Synchronization

/// Closes connections that have not sent a whole request in time, so that slow clients do not use up all connections.
///
/// libmicrohttpd closes a connection that is silent. One that sends a byte now and then would stay open, and
/// every user of the machine can open one: the token is known only when a request is whole.
final class RequestDeadlines: Sendable {
  private struct Connection {
    var socket: Int32
    /// Counts the requests that were waited for, so that a late timer finds out that its request came.
    var request: UInt64
  }

  /// Seconds from the beginning of a connection, or from the answer before, to a whole request.
  static let longest = 10.0

  private let waiting = Mutex<(connections: [UInt: Connection], last: UInt64)>(([:], 0))
  private let queue = DispatchQueue(label: "workerpool web: deadlines")

  /// A connection is there, or has had its answer: it is waited for its next request.
  func expect(_ connection: OpaquePointer, socket: Int32) {
    let key = UInt(bitPattern: connection)
    let request = waiting.withLock { waiting in
      waiting.last += 1
      waiting.connections[key] = Connection(socket: socket, request: waiting.last)
      return waiting.last
    }
    queue.asyncAfter(deadline: .now() + Self.longest) { [weak self] in self?.close(key, request) }
  }

  /// The request is whole, or the connection is closed; called before its descriptor is.
  func forget(_ connection: OpaquePointer) {
    _ = waiting.withLock { $0.connections.removeValue(forKey: UInt(bitPattern: connection)) }
  }

  private func close(_ key: UInt, _ request: UInt64) {
    // With the lock: the descriptor is not closed meanwhile. The server sees the end of the stream and closes it.
    waiting.withLock { waiting in
      guard let late = waiting.connections[key], late.request == request else { return }
      shutdown(late.socket, Int32(SHUT_RDWR))
      waiting.connections[key] = nil
    }
  }
}
