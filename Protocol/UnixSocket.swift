import CSystem
import Glibc
import LinuxSystem
@_exported import struct LinuxSystem.SystemCallError

/// Who is at the other end of a Unix-domain socket, as the kernel noted when the connection was made.
public struct PeerCredentials: Equatable, Sendable {
  /// The process ID of the peer.
  public let pid: Int32
  /// The effective user ID of the peer.
  public let userID: UInt32

  /// Asks the kernel about a connected socket.
  public init(of descriptor: Int32) throws(SystemCallError) {
    var credentials = csystem_credentials()
    guard csystem_peer_credentials(descriptor, &credentials) == 0 else { throw SystemCallError("getsockopt") }
    pid = credentials.pid
    userID = credentials.uid
  }
}

/// Unix-domain stream sockets. All descriptors are close-on-exec.
public enum UnixSocket {
  /// The two ends of a new connection: one for this process, one for a process that inherits it.
  package static func pair() throws(SystemCallError) -> (near: Connection, far: Descriptor) {
    var ends: [Int32] = [-1, -1]
    guard csystem_unix_socketpair(&ends) == 0 else { throw SystemCallError("socketpair") }
    let far = try Descriptor(ends[1], "socketpair")
    do throws(SystemCallError) {
      return (try Connection(descriptor: ends[0]), far)
    } catch {
      close(ends[0])
      throw error
    }
  }

  /// Takes over the end of a connection that this process inherited, so that no process which it starts inherits it
  /// too: the end of the stream is noticed only when all copies of an end are closed.
  ///
  /// - Throws: EBADF or ENOTSOCK when the number is not that of a socket.
  public static func inherited(_ number: Int32) throws(SystemCallError) -> Int32 {
    var type: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) == 0 else { throw SystemCallError("getsockopt") }
    guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { throw SystemCallError("fcntl") }
    return number
  }

  /// Listens at `path` on a non-blocking descriptor, mode 0600. A socket that an earlier process left there is
  /// replaced.
  ///
  /// The socket gets its name by a rename once it accepts connections: a client that sees it can connect.
  public static func listen(at path: String, backlog: Int32 = 128) throws(SystemCallError) -> Int32 {
    let descriptor = csystem_unix_socket()
    guard descriptor >= 0 else { throw SystemCallError("socket") }
    do throws(SystemCallError) {
      guard csystem_set_nonblocking(descriptor) == 0 else { throw SystemCallError("fcntl") }
      let newPath = path + ".new"
      if unlink(newPath) != 0, errno != ENOENT { throw SystemCallError("unlink", path: newPath) }
      try withAddress(of: newPath) { (address, length) throws(SystemCallError) in
        guard bind(descriptor, address, length) == 0 else { throw SystemCallError("bind", path: newPath) }
      }
      guard chmod(newPath, 0o600) == 0 else { throw SystemCallError("chmod", path: newPath) }
      guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemCallError("listen", path: newPath) }
      guard rename(newPath, path) == 0 else { throw SystemCallError("rename", path: path) }
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Connects to the listener at `path`; the descriptor is blocking.
  public static func connect(to path: String) throws(SystemCallError) -> Int32 {
    let descriptor = csystem_unix_socket()
    guard descriptor >= 0 else { throw SystemCallError("socket") }
    do throws(SystemCallError) {
      try withAddress(of: path) { (address, length) throws(SystemCallError) in
        while Glibc.connect(descriptor, address, length) != 0 {
          guard errno == EINTR else { throw SystemCallError("connect", path: path) }
        }
      }
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The next waiting connection as a non-blocking descriptor, or `nil` when none waits.
  public static func accept(on listener: Int32) throws(SystemCallError) -> Int32? {
    while true {
      let descriptor = csystem_accept(listener)
      if descriptor >= 0 { return descriptor }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EAGAIN: return nil
      default: throw SystemCallError("accept")
      }
    }
  }

  /// Hands over the address of `path`. The kernel takes 108 bytes only (unix(7)); a longer path is named through a
  /// descriptor of its directory, which is open for as long as `body` runs.
  private static func withAddress(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemCallError) -> Void
  ) throws(SystemCallError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    var name = path
    var directory: Int32 = -1
    defer { if directory >= 0 { close(directory) } }
    if name.utf8.count >= capacity {
      let parts = path.split(separator: "/", omittingEmptySubsequences: true)
      let parent = (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
      directory = open(parent.isEmpty ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard directory >= 0 else { throw SystemCallError("open", path: parent) }
      name = "/proc/self/fd/\(directory)/\(parts.last ?? "")"
      guard name.utf8.count < capacity else { throw SystemCallError("socket path", path: path, number: ENAMETOOLONG) }
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
    do {
      try withUnsafePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          try body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    } catch let error as SystemCallError {
      throw error
    } catch {
      throw SystemCallError("socket address", path: path, number: EINVAL)
    }
  }
}
