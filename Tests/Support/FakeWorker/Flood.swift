import Glibc
import WorkerProtocol

/// Floods a socket: `fake-worker flood SOCKET MANNER`.
enum Flood {
  /// What is sent, and whether the replies are read.
  enum Manner: String {
    /// Lines of two bytes, as fast as they are taken.
    case garbage
    /// Requests, one after the other; no reply is ever read.
    case unread
    /// Requests, more than replies are read: a little is always left unread.
    case slow

    var block: [UInt8] {
      switch self {
      case .garbage: (0..<32_768).flatMap { _ in Array("x\n".utf8) }
      case .unread, .slow: (0..<100).flatMap { _ in Array("{\"command\":\"status\"}\n".utf8) }
      }
    }
  }

  static func run(socket: String, manner: Manner) throws {
    let descriptor = try UnixSocket.connect(to: socket)
    let connection = try Connection(descriptor: descriptor)
    let block = manner.block
    var taken = [UInt8](repeating: 0, count: 2000)
    while true {
      if connection.unsentBytes < block.count { connection.send { $0 += block } }
      connection.flush()
      if manner == .slow { _ = read(descriptor, &taken, taken.count) }
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      // The slow one reads a few hundred times a second.
      poll(&ready, 1, manner == .slow ? 2 : -1)
      if Int32(ready.revents) & POLLHUP != 0 { return }
    }
  }
}
