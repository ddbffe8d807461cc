import CSystem
import Glibc
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The way from other threads into the event loop: values wait in a list, an eventfd wakes the loop.
final class Mailbox<Letter: Sendable>: Sendable {
  private let file: Descriptor
  /// Readable while letters wait.
  var descriptor: Int32 { file.number }
  private let letters = Mutex<[Letter]>([])

  init() throws(SystemCallError) {
    file = try Descriptor(csystem_eventfd(), "eventfd")
  }

  /// Leaves a letter. Safe on any thread; never blocks.
  func post(_ letter: Letter) {
    let wasEmpty = letters.withLock { letters in
      letters.append(letter)
      return letters.count == 1
    }
    if wasEmpty { wake() }
  }

  /// Takes the letters in the order they were posted, `limit` of them at most; the descriptor stays readable while
  /// others wait.
  func collect(atMost limit: Int = .max) -> [Letter] {
    var count: UInt64 = 0
    _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    let (taken, hasMore) = letters.withLock { letters in
      let taken = Array(letters.prefix(limit))
      letters.removeFirst(taken.count)
      return (taken, !letters.isEmpty)
    }
    if hasMore { wake() }
    return taken
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }
}

extension EventLoop {
  /// Letters of one mailbox that are handled in one turn: the rest comes in the next.
  static let lettersPerTurn = 64

  /// Calls `handler` on the loop for each letter of the mailbox.
  func deliver<Letter>(
    from mailbox: Mailbox<Letter>, place: StaticString = #fileID, to handler: @escaping (Letter) -> Void
  ) throws(SystemCallError) {
    try watch(mailbox.descriptor, for: .readable, from: place) {
      for letter in mailbox.collect(atMost: Self.lettersPerTurn) { handler(letter) }
    }
  }
}
