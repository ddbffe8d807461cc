/// A thread that waits for a context's queue, and lends the queues that it holds meanwhile.
///
/// A context reads and saves through its parent, on the parent's queue. If a thread that has the parent's queue waits
/// for the child, a block that runs on the child's queue, or waits there in front, may need the parent: both would wait
/// without end. So the waiting thread lends the parent's queue to that block:
///
///     thread with the parent's queue     queue of the child
///     child.performAndWait: waits        a merge reads an object of the parent: waits
///     runs the reading
///                                        goes on, and ends
///     runs its own block
///
/// A thread lends a queue only to blocks on the branch of the tree for which it waits. That is enough: of threads that
/// wait for each other in a circle, each for a context above or below one of its own, one has the topmost context. The
/// others are on one branch below it, as is the context for which it waits. So it can lend.
///
/// `@unchecked Sendable`: the state is used under `lock`, and `work` by the thread that the state names.
final class QueueWait: @unchecked Sendable {
  /// The state of a wait. Its own thread, the queue's block and lending threads change it, each under the lock:
  ///
  ///     waiting -> lending -> waiting        it ran another one's work, and goes on waiting
  ///     waiting -> taken   -> done           the main queue or a lending thread runs its work
  ///     waiting -> begun   -> (end)          the queue has come to it and stands still: it runs its work itself
  private enum State {
    case waiting
    /// The thread runs the work of another one, `borrower`.
    case lending
    /// The main queue or a lending thread runs the work.
    case taken
    /// The queue stands still until the thread has run the work.
    case begun
    case done
  }

  /// One lock for all waits of the process: partners are found among all of them, and waits are few.
  private static let lock = NSLock()
  // `nonisolated(unsafe)`: used under `lock`.
  nonisolated(unsafe) private static var all: [QueueWait] = []

  private let context: NSManagedObjectContext
  /// The chain of the waiting thread: the queues that it holds and may lend.
  private let scope: PerformScope?
  /// Whether the main queue waits for the thread, which then may lend it too.
  private let holdsMainQueue: Bool
  private var work: (() -> Void)?
  private var state = State.waiting
  /// The wait whose work this thread is running; nil unless it lends.
  private var borrower: QueueWait?
  /// Whether the queue's turn came while the thread was lending.
  private var hasMissedTurn = false
  /// Counts the changes of the state that concern the waiting thread. A semaphore keeps them: a signal that comes
  /// before the thread waits is not lost.
  private let wake = DispatchSemaphore(value: 0)
  /// Signalled when the thread has run its work, for the queue that stands still meanwhile.
  private let ended = DispatchSemaphore(value: 0)

  private init(_ context: NSManagedObjectContext, _ scope: PerformScope?, _ work: @escaping () -> Void) {
    self.context = context
    self.scope = scope
    self.work = work
    holdsMainQueue = PerformScope.isOnMainQueue
  }

  /// Runs the body when it has the context's queue: on the main queue if it is that, else on the current thread, or on
  /// a thread that lends the queue.
  ///
  /// - Parameter scope: the current thread's chain of contexts.
  static func run<T, Failure: Error>(
    _ context: NSManagedObjectContext, _ scope: PerformScope?, _ body: () throws(Failure) -> T
  ) throws(Failure) -> T {
    // `nonisolated(unsafe)`: written by the thread that runs the body, while this one waits.
    nonisolated(unsafe) var result: Result<T, Failure>?
    withoutActuallyEscaping({ result = Result(catching: body) }) { work in
      QueueWait(context, scope, work).run()
    }
    // `run` returns after the body has run.
    return try result.unsafelyUnwrapped.get()
  }

  // MARK: The waiting thread

  /// Enters the list, looks for a partner, queues up, and then does what the state asks for until the work has run.
  ///
  /// Both threads look for a partner: the second one finds the first.
  ///
  ///     thread 1 has P, wants C              thread 2 has C, wants P
  ///     enters the list: no partner
  ///     queues up for C, waits
  ///                                          enters the list: thread 1 has P and waits below it
  ///                                          lend: thread 1 runs thread 2's work next
  ///     wakes, runs the work with P
  ///     goes on waiting                      done: goes on, releases C
  ///     the queue of C comes: runs its own
  private func run() {
    QueueWait.lock.withLock {
      QueueWait.all.append(self)
      findPartner()
    }
    queueUp()
    while goesOn() { wake.wait() }
    QueueWait.lock.withLock { QueueWait.all.removeAll { $0 === self } }
  }

  /// Does what the state asks for. False at the end. The state is read under the lock and acted on without it: a state
  /// that concerns this thread does not change until it has acted.
  private func goesOn() -> Bool {
    let (state, borrower) = QueueWait.lock.withLock { (self.state, self.borrower) }
    switch state {
    case .waiting, .taken: return true
    case .lending:
      borrower?.runWork()
      borrower?.finish()
      stopLending()
      return true
    case .begun:
      runWork()
      ended.signal()
      return false
    case .done: return false
    }
  }

  /// Goes back to waiting. The queue may have come by while this thread was lending, and found it busy: then it queues
  /// up again.
  private func stopLending() {
    let queuesAgain = QueueWait.lock.withLock {
      state = .waiting
      borrower = nil
      findPartner()
      defer { hasMissedTurn = false }
      return hasMissedTurn
    }
    if queuesAgain { queueUp() }
  }

  /// The work is released when this returns, before the waiting thread learns of its end.
  private func runWork() {
    work?()
    work = nil
  }

  /// Tells the thread that its work has run elsewhere.
  private func finish() {
    QueueWait.lock.withLock { state = .done }
    wake.signal()
  }

  // MARK: The queue

  /// Takes a place in the context's queue.
  ///
  /// The main queue runs the work itself, since only its thread may use its objects. A private queue stands still while
  /// the waiting thread runs the work, which then has its own chain and thread-specific values.
  private func queueUp() {
    if context.concurrencyType == .mainQueueConcurrencyType {
      DispatchQueue.main.async {
        guard self.beginTurn(.taken) else { return }
        self.runWork()
        self.finish()
      }
    } else {
      context.enqueueTurn {
        guard self.beginTurn(.begun) else { return }
        self.wake.signal()
        self.ended.wait()
      }
    }
  }

  /// The queue's turn has come: true if the wait still wants it. A thread that lends cannot take it, and notes it.
  private func beginTurn(_ next: State) -> Bool {
    QueueWait.lock.withLock {
      if state == .lending { hasMissedTurn = true }
      guard state == .waiting else { return false }
      state = next
      return true
    }
  }

  // MARK: Lending

  /// Finds a thread to which this one can lend, or one that can lend to it. Under the lock.
  private func findPartner() {
    guard state == .waiting else { return }
    if let other = QueueWait.all.first(where: { $0.canBorrow(from: self) }) {
      lend(to: other)
    } else if let other = QueueWait.all.first(where: { canBorrow(from: $0) }) {
      other.lend(to: self)
    }
  }

  /// Pairs two waits: this thread will run the other one's work. Under the lock.
  private func lend(to other: QueueWait) {
    state = .lending
    borrower = other
    other.state = .taken
    wake.signal()
  }

  /// Whether the other thread has the queue for which this one waits, and waits for this one's branch below it.
  private func canBorrow(from lender: QueueWait) -> Bool {
    guard state == .waiting, lender.state == .waiting, lender !== self, lender.holds(context),
      let branch = lender.context.branch(below: context)
    else { return false }
    if let scope, scope.contains(where: { $0.branch(below: context) === branch }) { return true }
    return holdsMainQueue && lender.context.isBelowMainQueue(upTo: branch)
  }

  /// Whether this thread may use the context: it has its queue, or the main queue waits for it.
  private func holds(_ context: NSManagedObjectContext) -> Bool {
    if holdsMainQueue && context.concurrencyType == .mainQueueConcurrencyType { return true }
    return scope?.includes(context) ?? false
  }
}

extension NSManagedObjectContext {
  /// The context next below the given one, on the way up from here. The main queue's contexts count as one.
  fileprivate final func branch(below top: NSManagedObjectContext) -> NSManagedObjectContext? {
    let isMain = top.concurrencyType == .mainQueueConcurrencyType
    var next = self
    while let parent = next.parentContext {
      if parent === top || isMain && parent.concurrencyType == .mainQueueConcurrencyType { return next }
      next = parent
    }
    return nil
  }

  /// Whether this context, or one on the way up to the given one, belongs to the main queue.
  fileprivate final func isBelowMainQueue(upTo last: NSManagedObjectContext) -> Bool {
    var next: NSManagedObjectContext? = self
    while let current = next {
      if current.concurrencyType == .mainQueueConcurrencyType { return true }
      next = current === last ? nil : current.parentContext
    }
    return false
  }
}
