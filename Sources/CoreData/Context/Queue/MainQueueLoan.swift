/// Lends the main queue to the blocks of a context for which the main queue waits.
///
/// A private-queue context whose parent belongs to the main queue reads and saves through that parent. While the main
/// queue waits for such a context in `performAndWait`, a block that runs there, or waits there in front, may need the
/// main queue. The waiting thread runs what it asks for, so that the two do not wait for each other:
///
///     main queue                         queue of the child
///     child.performAndWait: waits        a merge reads an object of the parent: waits
///     runs the reading
///                                        goes on, and ends
///     runs its own block
enum MainQueueLoan {
  /// Something that a thread wants to run on the main queue, and waits for.
  ///
  /// `@unchecked Sendable`: `work` is taken once, under the lock; the rest is constant.
  private final class Request: @unchecked Sendable {
    let scope: PerformScope
    private var work: (() -> Void)?
    private let done = DispatchSemaphore(value: 0)

    init(_ scope: PerformScope, _ work: @escaping () -> Void) {
      self.scope = scope
      self.work = work
    }

    /// Whether the queue of this context moves on once the request is fulfilled.
    func isHolding(upQueueOf context: NSManagedObjectContext) -> Bool {
      var next: NSManagedObjectContext? = context
      while let current = next {
        if scope.includes(current) { return true }
        next = current.parentContext
      }
      return false
    }

    /// Runs the work, unless another thread has taken it.
    func fulfil() {
      guard runIfUntaken() else { return }
      done.signal()
    }

    /// The work is released when this returns, before anybody hears of its end.
    private func runIfUntaken() -> Bool {
      let taken = condition.withLock { () -> (() -> Void)? in
        defer { work = nil }
        return work
      }
      guard let taken else { return false }
      taken()
      return true
    }

    func wait() { done.wait() }
  }

  private static let condition = NSCondition()
  /// The requests that were not taken yet, under `condition`.
  nonisolated(unsafe) private static var requests: [Request] = []

  // MARK: Borrowing

  /// Runs the body on the main queue, or on a thread of the main queue that waits for the caller.
  static func borrow<T, Failure: Error>(
    _ scope: PerformScope, _ body: () throws(Failure) -> T
  ) throws(Failure) -> T {
    // `nonisolated(unsafe)`: written by the thread that runs the body, while this one waits.
    nonisolated(unsafe) var result: Result<T, Failure>?
    withoutActuallyEscaping({ result = Result(catching: body) }) { work in
      let request = Request(scope, work)
      condition.withLock {
        requests.append(request)
        condition.broadcast()
      }
      DispatchQueue.main.async { request.fulfil() }
      request.wait()
      condition.withLock { requests.removeAll { $0 === request } }
    }
    // `wait` returns after the body has run.
    return try result.unsafelyUnwrapped.get()
  }

  // MARK: Lending

  /// Runs the body while it has the context's queue to itself. Called on the main queue, which fulfils requests of
  /// that queue's blocks until it is the body's turn.
  static func lending<T, Failure: Error>(
    to context: NSManagedObjectContext, _ body: () throws(Failure) -> T
  ) throws(Failure) -> T {
    let turn = Turn()
    context.queue.async {
      turn.begin()
      turn.ended.wait()
    }
    defer { turn.ended.signal() }
    while let request = turn.nextRequest(holdingUp: context) { request.fulfil() }
    return try body()
  }

  /// The time for which a context's queue does nothing but wait for the thread that has it.
  ///
  /// `@unchecked Sendable`: `hasBegun` is used under the lock.
  private final class Turn: @unchecked Sendable {
    private var hasBegun = false
    let ended = DispatchSemaphore(value: 0)

    func begin() {
      condition.withLock {
        hasBegun = true
        condition.broadcast()
      }
    }

    /// Waits for a request that holds up the context's queue; nil once the turn has begun.
    func nextRequest(holdingUp context: NSManagedObjectContext) -> Request? {
      condition.withLock {
        while !hasBegun {
          if let index = requests.firstIndex(where: { $0.isHolding(upQueueOf: context) }) {
            return requests.remove(at: index)
          }
          condition.wait()
        }
        return nil
      }
    }
  }
}

extension NSManagedObjectContext {
  /// Whether a context above belongs to the main queue.
  final var isBelowMainQueue: Bool {
    var next = parentContext
    while let current = next {
      if current.concurrencyType == .mainQueueConcurrencyType { return true }
      next = current.parentContext
    }
    return false
  }
}
