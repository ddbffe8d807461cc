import CSystem
import Glibc

/// A thread beside those of Dispatch, for what may block.
///
/// Foundation's `Thread` does not tell whether it has started: where the machine has no thread to give, its body never
/// runs, and nobody hears of it.
package enum BackgroundThread {
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// Starts a thread that runs `body` and ends with it. Its stack has 8 MiB, as the main thread's.
  ///
  /// - Parameter name: what tools such as top(1) show, 15 bytes at most.
  /// - Throws: EAGAIN when a limit on threads is reached, of the user or of the control group (pthread_create(3)).
  package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemCallError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, stackSize)
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(name, body))
    let error = pthread_create(
      &thread, &attributes,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        csystem_name_thread(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    guard error == 0 else {
      start.release()
      throw SystemCallError("pthread_create", number: error)
    }
  }

  private static let stackSize = 8 << 20
}
