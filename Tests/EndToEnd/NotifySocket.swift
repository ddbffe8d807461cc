import Foundation
import Glibc
import Testing

/// The socket at which a service manager is told how a pool is doing (sd_notify(3)).
final class NotifySocket {
  let path: String
  private let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)

  init(_ place: TestPlace) throws {
    path = place.path("notify")
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
  }

  deinit { close(socket) }

  /// The next message; nil when none has come for a minute.
  func next() -> String? {
    var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, 60_000) == 1 else { return nil }
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = recv(socket, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }
}
