import LinuxSystem
import PoolClient
import Synchronization

/// Work that may block, such as a look at a file system that may hang: it runs on threads beside the loop, and its
/// result comes back as an event.
///
/// Work on one subject runs one piece after the other, so that a file system that hangs holds one thread, and the work
/// on others goes on. The number of threads has a bound; where the machine has none to give, it is tried again.
final class BlockingWork {
  /// Pieces of work that run at a time.
  static let mostThreads = 16
  /// Seconds until it is tried again to start a thread.
  static let retryDelay = 0.5
  /// Seconds from which on work counts as hanging.
  static let hanging = 1.0

  private struct Piece {
    let subject: String
    let work: @Sendable () -> Void
    let completion: () -> Void
  }

  /// The result of a piece of work, which a thread leaves for the loop.
  private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }

  private let timers: TimerQueue
  /// The numbers of the pieces that have ended.
  private let ended: Mailbox<Int>
  private var lastNumber = 0
  /// Pieces that wait for the subject before them, or for a thread, the oldest first.
  private var waiting: [(number: Int, piece: Piece)] = []
  private var running: [Int: (piece: Piece, since: Double)] = [:]
  private var retry: TimerQueue.Token?
  /// Starts a thread. A test replaces it.
  var start: (@escaping @Sendable () -> Void) throws(SystemCallError) -> Void = { work throws(SystemCallError) in
    try BackgroundThread.start("blocking work", work)
  }
  /// Called when no thread can be started, once until one can be.
  var whenShort: (SystemCallError) -> Void = { _ in }
  private var isShort = false

  init(timers: TimerQueue) throws(SystemCallError) {
    self.timers = timers
    ended = try Mailbox()
  }

  /// Readable when pieces have ended.
  var descriptor: Int32 { ended.descriptor }

  /// Runs `work` on another thread, and `completion` with its result on the loop.
  ///
  /// - Parameter subject: what it may wait for, as in "the plugin directory /srv/plugins".
  func run<Value: Sendable>(
    on subject: String, _ work: @escaping @Sendable () -> Value, then completion: @escaping (Value) -> Void
  ) {
    let outcome = Outcome<Value>()
    lastNumber += 1
    let piece = Piece(
      subject: subject,
      work: {
        let value = work()
        outcome.value.withLock { $0 = value }
      },
      completion: {
        guard let value = outcome.value.withLock({ $0 }) else { return }
        completion(value)
      })
    waiting.append((lastNumber, piece))
    startWaiting()
  }

  /// What runs or waits, by its subject; nil for nothing.
  var subject: String? { running.values.first?.piece.subject ?? waiting.first?.piece.subject }

  /// The subjects of work that has not ended for ``hanging`` seconds, with the seconds, the longest first.
  var hangs: [PoolStatus.Hang] {
    let now = Clock.now
    return running.values.map { PoolStatus.Hang(subject: $0.piece.subject, seconds: now - $0.since) }
      .filter { $0.seconds >= Self.hanging }.sorted { $0.seconds > $1.seconds }
  }

  /// Hands over the results that have come. The loop calls it when ``descriptor`` is readable.
  func deliver() {
    for number in ended.collect() { running.removeValue(forKey: number)?.piece.completion() }
    startWaiting()
  }

  private func startWaiting() {
    var busy = Set(running.values.map(\.piece.subject))
    var index = 0
    while index < waiting.count, running.count < Self.mostThreads {
      let (number, piece) = waiting[index]
      guard busy.insert(piece.subject).inserted else {
        index += 1
        continue
      }
      do throws(SystemCallError) {
        try start { [ended, work = piece.work] in
          work()
          ended.post(number)
        }
      } catch {
        return tryAgain(error)
      }
      isShort = false
      waiting.remove(at: index)
      running[number] = (piece, Clock.now)
    }
  }

  private func tryAgain(_ error: SystemCallError) {
    if !isShort { whenShort(error) }
    isShort = true
    timers.cancel(retry)
    retry = timers.after(Self.retryDelay) { [weak self] in self?.startWaiting() }
  }
}
