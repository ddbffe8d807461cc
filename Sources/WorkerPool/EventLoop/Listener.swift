import Glibc
import LinuxSystem
import WorkerProtocol

/// A socket by path that accepts connections on the loop, a share of those that wait in each turn.
///
/// When one cannot be accepted, most likely because the process is out of descriptors, it pauses: the connection still
/// waits, and would wake the loop without end.
final class Listener {
  private static let connectionsPerTurn = 64
  /// Seconds until connections are accepted again after that has failed.
  private static let pause = 0.5

  private let loop: EventLoop
  private let path: String
  let descriptor: Int32
  /// Held so that a connection can be accepted when the process has no other descriptor left.
  private var spare: Descriptor?
  private let keepsSpare: Bool
  /// The device and inode of the socket at the path.
  private let place: FileID?
  private let welcome: (Int32) throws(SystemCallError) -> Void
  private let failed: (SystemCallError) -> Bool

  /// Listens at `path`.
  ///
  /// - Parameters:
  ///   - inherited: a socket that listens at the path already, which stays the caller's; nil for a new one.
  ///   - keepsSpare: whether one connection is accepted even when the process is out of descriptors.
  ///   - welcome: gets the descriptor of each connection, and closes it.
  ///   - failed: called when a connection could not be accepted, or `welcome` has thrown; returns whether trying again
  ///     at once may help.
  init(
    path: String, inherited: Int32? = nil, loop: EventLoop, keepsSpare: Bool = false,
    welcome: @escaping (Int32) throws(SystemCallError) -> Void,
    failed: @escaping (SystemCallError) -> Bool
  ) throws(SystemCallError) {
    self.loop = loop
    self.path = path
    self.keepsSpare = keepsSpare
    self.welcome = welcome
    self.failed = failed
    if let inherited {
      descriptor = fcntl(inherited, F_DUPFD_CLOEXEC, 3)
      guard descriptor >= 0 else { throw SystemCallError("fcntl") }
    } else {
      descriptor = try UnixSocket.listen(at: path)
    }
    place = Self.place(path)
    takeSpare()
    try watch()
  }

  deinit {
    loop.unwatch(descriptor)
    close(descriptor)
  }

  /// Whether the path leads to this socket.
  var isInPlace: Bool { place.map { $0 == Self.place(path) } ?? true }

  private static func place(_ path: String) -> FileID? {
    var status = stat()
    return lstat(path, &status) == 0 ? FileID(status) : nil
  }

  private func takeSpare() {
    guard keepsSpare, spare == nil else { return }
    // Without it, a full table of descriptors keeps clients waiting. It is tried again at the next chance.
    spare = try? Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), "open")
  }

  private func watch() throws(SystemCallError) {
    try loop.watch(descriptor, for: .readable) { [weak self] in self?.acceptSome() }
  }

  private func acceptSome() {
    takeSpare()
    for number in 0..<Self.connectionsPerTurn {
      do throws(SystemCallError) {
        guard let connection = try accept() else { return }
        try welcome(connection)
      } catch {
        // Without a free descriptor accept(2) does not say whether another connection waits.
        if number > 0, ErrorNumber.isOutOfDescriptors(error.number) { return }
        if failed(error) { continue }
        loop.unwatch(descriptor)
        return watchLater()
      }
    }
  }

  private func accept() throws(SystemCallError) -> Int32? {
    do throws(SystemCallError) {
      return try UnixSocket.accept(on: descriptor)
    } catch {
      guard ErrorNumber.isOutOfDescriptors(error.number), spare != nil else { throw error }
      spare = nil
      return try UnixSocket.accept(on: descriptor)
    }
  }

  private func watchLater() {
    loop.timers.after(Self.pause) { [weak self] in
      guard let self else { return }
      do { try watch() } catch { watchLater() }
    }
  }
}
