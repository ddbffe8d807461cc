import Dispatch
import LinuxSystem
import Synchronization

/// A question to file systems, of which one may hang. A start does not wait for it.
enum PatientQuestion {
  /// Seconds that the file systems have to answer.
  private static let patience = 1.0

  /// One thread gives an answer to another thread, which waits for a limited time.
  private final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    func give(_ value: Value) {
      self.value.withLock { $0 = value }
      isThere.signal()
    }

    func wait(seconds: Double) -> Value? {
      guard isThere.wait(timeout: .now() + seconds) == .success else { return nil }
      return value.withLock { $0 }
    }
  }

  /// Asks on a thread of its own.
  ///
  /// - Parameter name: the thread's, of at most 15 characters.
  /// - Returns: nil if there is no answer in time, and without a thread.
  static func ask<Value: Sendable>(_ name: String, _ question: @escaping @Sendable () -> Value) -> Value? {
    let answer = Answer<Value>()
    do throws(SystemCallError) {
      try BackgroundThread.start(name) { answer.give(question()) }
    } catch {
      return nil
    }
    return answer.wait(seconds: patience)
  }
}
