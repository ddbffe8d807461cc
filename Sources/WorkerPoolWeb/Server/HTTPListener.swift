import Foundation
import Glibc
import Jobs
import LinuxSystem

/// A listening socket: a port of 127.0.0.1, a file, or what a service manager passes on.
struct HTTPListener {
  let descriptor: Int32
  /// The port; nil for a Unix socket.
  private(set) var port: UInt16?
  /// The address of a port, as it stands in a URL.
  private(set) var address = "127.0.0.1"
  /// The path of a Unix socket.
  private(set) var socket: String?
  /// The file that this listener has made.
  private var file: FileID?

  /// - Parameter port: 0 for any that is free.
  init(port: UInt16) throws {
    descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemCallError("socket") }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
    guard isBound, listen(descriptor, 64) == 0 else {
      let reason = errno
      close(descriptor)
      throw ListenError(
        description:
          "port \(port) of 127.0.0.1 cannot be used: \(String(cString: strerror(reason))); --port 0 takes any that is "
          + "free"
      )
    }
    let isNamed = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
    }
    guard isNamed else { throw SystemCallError("getsockname") }
    self.port = UInt16(bigEndian: address.sin_port)
  }

  /// A socket that this user alone may use. A socket without a listener is replaced.
  init(socket path: String) throws {
    descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemCallError("socket") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8) + [0]
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count <= room else {
      close(descriptor)
      throw ListenError(
        description: "the path of a socket may have \(room - 1) bytes, this one has \(bytes.count - 1): \(path)")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let descriptor = descriptor
    func call(_ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32) -> Int32 {
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(descriptor, $0, size) }
      }
    }
    if let status = Self.status(path) {
      let isSocket = FileKind(status) == .socket
      guard isSocket, call(connect) != 0, errno == ECONNREFUSED else {
        close(descriptor)
        throw ListenError(
          description: isSocket
            ? "\(path) is in use by another program" : "\(path) is there already and is no socket: name another path")
      }
      unlink(path)
    }
    let mask = umask(0o177)
    defer { umask(mask) }
    guard call(bind) == 0, listen(descriptor, 64) == 0 else {
      let reason = errno
      close(descriptor)
      throw ListenError(description: "the socket \(path) cannot be made: \(String(cString: strerror(reason)))")
    }
    socket = path
    file = Self.status(path).map(FileID.init)
  }

  /// The socket that a service manager has opened for this process; nil when there is none.
  ///
  /// Source: sd_listen_fds(3).
  init?(passedIn environment: [String: String], pid: Int32 = getpid()) throws(ListenError) {
    guard environment["LISTEN_PID"] == String(pid), let count = environment["LISTEN_FDS"], count != "0" else {
      return nil
    }
    guard count == "1" else {
      throw ListenError(
        description: "the service manager passes \(count) sockets, and the pages are served on one: name one address")
    }
    descriptor = Self.firstPassed
    guard Self.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue),
      Self.option(SO_ACCEPTCONN, of: descriptor) == 1
    else {
      throw ListenError(
        description: "descriptor \(descriptor) of the service manager does not listen: a unit needs ListenStream= and "
          + "Accept=no")
    }
    // A client that is gone before it is accepted must not hold the server's thread.
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
    else { throw ListenError(description: "descriptor \(descriptor) of the service manager cannot be used") }
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let name = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        getsockname(descriptor, address, &size) == 0 ? Self.name(of: address, size) : nil
      }
    }
    switch name {
    case .file(let path): socket = path
    case .port(let port, let address): (self.port, self.address) = (port, address)
    case nil: throw ListenError(description: "the service manager's socket is neither of TCP nor a Unix socket")
    }
  }

  /// The first descriptor that service managers pass, SD_LISTEN_FDS_START.
  private static let firstPassed: Int32 = 3

  private enum Name {
    /// The path of a Unix socket; empty for one without a file.
    case file(String)
    case port(UInt16, address: String)
  }

  private static func name(of address: UnsafeMutablePointer<sockaddr>, _ size: socklen_t) -> Name? {
    if Int32(address.pointee.sa_family) == AF_UNIX {
      let bytes = UnsafeRawBufferPointer(start: address, count: Int(size)).dropFirst(MemoryLayout<sa_family_t>.size)
      return .file(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    guard
      getnameinfo(
        address, size, &host, socklen_t(host.count), &service, socklen_t(service.count),
        NI_NUMERICHOST | NI_NUMERICSERV) == 0
    else { return nil }
    let text = { (bytes: [CChar]) in
      String(decoding: bytes.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
    }
    guard let port = UInt16(text(service)) else { return nil }
    switch text(host) {
    // All addresses: one of them is that of the machine itself.
    case "0.0.0.0": return .port(port, address: "127.0.0.1")
    case "::": return .port(port, address: "[::1]")
    case let host: return .port(port, address: host.contains(":") ? "[\(host)]" : host)
    }
  }

  private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
  }

  /// Removes the file of a Unix socket, unless another program has put its own there.
  func remove() {
    guard let socket, let file, let there = Self.status(socket), FileID(there) == file else { return }
    unlink(socket)
  }

  private static func status(_ path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }
}

/// Why nothing can listen there.
struct ListenError: Error, CustomStringConvertible {
  let description: String
}
