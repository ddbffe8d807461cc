import CSystem
import Glibc
import Synchronization
import WorkerProtocol

/// The way from other threads into the event loop: values wait in a list, an eventfd wakes the loop.
final class Mailbox<Letter: Sendable>: Sendable {
  /// Readable while letters wait.
  let descriptor: Int32
  private let letters = Mutex<[Letter]>([])

  init() throws(SystemCallError) {
    descriptor = csystem_eventfd()
    guard descriptor >= 0 else { throw SystemCallError("eventfd") }
  }

  deinit { close(descriptor) }

  /// Leaves a letter. Safe on any thread; never blocks.
  func post(_ letter: Letter) {
    let wasEmpty = letters.withLock { letters in
      letters.append(letter)
      return letters.count == 1
    }
    guard wasEmpty else { return }
    var one: UInt64 = 1
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }

  /// Takes all letters in the order they were posted.
  func collect() -> [Letter] {
    var count: UInt64 = 0
    _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    return letters.withLock { letters in
      defer { letters = [] }
      return letters
    }
  }
}

extension EventLoop {
  /// Calls `handler` on the loop for each letter of the mailbox.
  func deliver<Letter>(from mailbox: Mailbox<Letter>, to handler: @escaping (Letter) -> Void) {
    watch(mailbox.descriptor, for: .readable) {
      for letter in mailbox.collect() { handler(letter) }
    }
  }
}
