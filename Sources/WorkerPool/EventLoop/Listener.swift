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
  private let descriptor: Int32
  private let welcome: (Int32) throws(SystemCallError) -> Void
  private let failed: (SystemCallError) -> Void

  /// Listens at `path`.
  ///
  /// - Parameters:
  ///   - welcome: gets the descriptor of each connection, and closes it.
  ///   - failed: called when a connection could not be accepted, or `welcome` has thrown.
  init(
    path: String, loop: EventLoop, welcome: @escaping (Int32) throws(SystemCallError) -> Void,
    failed: @escaping (SystemCallError) -> Void
  ) throws(SystemCallError) {
    self.loop = loop
    self.welcome = welcome
    self.failed = failed
    descriptor = try UnixSocket.listen(at: path)
    try watch()
  }

  deinit {
    loop.unwatch(descriptor)
    close(descriptor)
  }

  private func watch() throws(SystemCallError) {
    try loop.watch(descriptor, for: .readable) { [weak self] in self?.acceptSome() }
  }

  private func acceptSome() {
    do throws(SystemCallError) {
      for _ in 0..<Self.connectionsPerTurn {
        guard let connection = try UnixSocket.accept(on: descriptor) else { return }
        try welcome(connection)
      }
    } catch {
      failed(error)
      loop.unwatch(descriptor)
      watchLater()
    }
  }

  private func watchLater() {
    loop.timers.after(Self.pause) { [weak self] in
      guard let self else { return }
      do { try watch() } catch { watchLater() }
    }
  }
}
