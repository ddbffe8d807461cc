/// Runs code on the context's queue.
extension NSManagedObjectContext {
  /// The time at which the block of an asynchronous `perform` starts.
  ///
  /// ```swift
  /// try await context.perform(schedule: .enqueued) { try context.save() }  // after all that was enqueued before
  /// ```
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.ScheduledTaskType`.
  public enum ScheduledTaskType: Sendable {
    /// At once if the caller is on the context's queue, else when the queue gets to it.
    case immediate
    /// When the queue gets to it, after all blocks before it.
    case enqueued
  }

  /// Whether the current thread may use the context.
  ///
  /// For a private queue only the chain of `perform` calls tells it: libdispatch has no such function, and a
  /// queue-specific value would not know of threads that lend their queues to each other (`QueueWait`). The main queue
  /// may also be used outside of all blocks.
  final var isOnItsQueue: Bool {
    switch concurrencyType {
    case .confinementConcurrencyType: confinementThread === Thread.current
    case .mainQueueConcurrencyType: PerformScope.contains(self) || PerformScope.isOnMainQueue
    case .privateQueueConcurrencyType: PerformScope.contains(self)
    }
  }

  /// `perform(_:)` without a subclass's override.
  final func enqueue(_ block: @escaping () -> Void) {
    requireQueue()
    enqueueTurn { self.runTurn(block) }
  }

  /// Runs the block on the context's queue and waits for it; inline if the caller is on the queue. It does not end the
  /// event. Traps for a confinement context.
  ///
  /// ```swift
  /// let titles = try context.performAndWait {
  ///   try context.fetch(NSFetchRequest<Book>(entityName: "Book")).compactMap(\.title)
  /// }
  /// ```
  ///
  /// Return values or object IDs, not objects: the result is used on the caller's thread. In a task prefer the
  /// asynchronous `perform(schedule:_:)`, which blocks no thread.
  ///
  /// Any thread may call it. A call from a block of the same context runs inline, also where the calling thread is in a
  /// block of another context by now. What the block changes stays unsaved until `save()`.
  ///
  /// - Parameter block: runs once, before the method returns.
  /// - Returns: the block's result.
  /// - Throws: the block's error.
  ///
  /// Source: Apple's documentation of `performAndWait(_:)`.
  public final func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try runAndWait(block) }

  /// Runs the block when the current thread has the queue. The ways, cheapest first:
  ///
  /// - The thread is in a block of this context already: inline.
  /// - The main queue's context on the main queue: inline.
  /// - The private queue is idle: on this thread, at the cost of a lock.
  /// - The thread holds queues that the blocks in front may need: `QueueWait`, which lends them.
  /// - Otherwise: `sync` on the queue, behind the blocks that are there.
  ///
  /// The event does not end after it, as on Apple's platforms: a fetch in a loop of `performAndWait` would post a
  /// notification for each turn.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each caller takes long to compile
  final func runAndWait<T>(_ block: () throws -> T) rethrows -> T {
    requireQueue()
    if PerformScope.contains(self) { return try block() }
    let outer = PerformScope.current
    let holdsMainQueue = PerformScope.isOnMainQueue
    if concurrencyType == .mainQueueConcurrencyType {
      if holdsMainQueue { return try runInScope(outer, holdsMainQueue: true, block) }
      guard let outer else { return try queue.sync { try runInScope(nil, holdsMainQueue: true, block) } }
      return try QueueWait.run(self, outer) { try runInScope(outer, holdsMainQueue: true, block) }
    }
    let result = try turns.runIfIdle { try runInScope(outer, holdsMainQueue: holdsMainQueue, block) }
    if let result { return result }
    if outer != nil || holdsMainQueue {
      return try QueueWait.run(self, outer) { try runInScope(outer, holdsMainQueue: holdsMainQueue, block) }
    }
    turns.announce()
    return try queue.sync {
      turns.begin()
      defer { turns.end() }
      return try runInScope(nil, holdsMainQueue: false, block)
    }
  }

  /// Notes for the duration of the block that the thread has the context's queue, and that the row cache must be
  /// compared with the file before its first use in the block.
  private func runInScope<T>(_ outer: PerformScope?, holdsMainQueue: Bool, _ block: () throws -> T) rethrows -> T {
    reading.needsCacheCheck = true
    return try PerformScope.run(self, outer: outer, holdsMainQueue: holdsMainQueue, block)
  }

  /// Runs the body on the queue later, as one of its turns.
  ///
  /// The announcement comes before the body is enqueued. Otherwise a thread could see an idle queue in between, and run
  /// its block before one that was enqueued earlier:
  ///
  ///     thread A                     thread B
  ///     queue.async { body }
  ///                                  runIfIdle: nothing is announced, runs its block
  ///     announce()                   (A's block comes second, although it was first)
  final func enqueueTurn(_ body: @escaping () -> Void) {
    // `nonisolated(unsafe)`: Apple's signature leaves it to the caller what a block captures.
    nonisolated(unsafe) let body = body
    guard concurrencyType == .privateQueueConcurrencyType else { return queue.async { body() } }
    turns.announce()
    queue.async {
      self.turns.begin()
      body()
      self.turns.end()
    }
  }

  /// Runs the block on the context's queue and returns its result; throws the block's error with its type. Ends the
  /// event after the block. Traps for a confinement context.
  ///
  /// ```swift
  /// let id = try await context.perform {
  ///   let author = Author(context: context)
  ///   author.name = "Jane Austen"
  ///   try context.save()
  ///   return author.objectID
  /// }
  /// ```
  ///
  /// The task is suspended and no thread waits. With `.immediate`, the default, a call from a block of the same context
  /// runs the block inline and does not end the event; any other call waits behind the blocks that are in the queue.
  /// Cancelling the task does not stop the block.
  ///
  /// The result leaves the context's queue: return an object ID or a value, not a managed object. As on Apple's
  /// platforms the compiler does not check it.
  ///
  /// Objects that the block fetched may be freed once it has returned, so fetch, change and save in one block.
  ///
  /// - Parameters:
  ///   - schedule: whether a call from a block of the same context runs at once (`.immediate`) or behind the enqueued
  ///     blocks (`.enqueued`).
  ///   - block: runs once, on the context's queue.
  /// - Returns: the block's result.
  /// - Throws: the block's error. Changes that were made before it stay in the context: call `rollback()` in the block
  ///   where they must not be saved later.
  ///
  /// Source: Apple's documentation of `perform(schedule:_:)`.
  nonisolated(nonsending) public final func perform<T, Failure: Error>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping () throws(Failure) -> T
  ) async throws(Failure) -> T {
    requireQueue()
    if schedule == .immediate && PerformScope.contains(self) { return try block() }
    // `nonisolated(unsafe)`: Apple's signature leaves it to the caller what the block captures.
    nonisolated(unsafe) let block = block
    let outcome: BlockOutcome<T, Failure> = await withCheckedContinuation { continuation in
      enqueueTurn { continuation.resume(returning: self.runTurn { BlockOutcome(block) }) }
    }
    return try outcome.result.get()
  }

  /// Traps for a confinement context, which has no queue to run a block on.
  private func requireQueue() {
    require(
      concurrencyType != .confinementConcurrencyType,
      "The context \(label) is confined to a thread and has no queue: use it directly on the thread that made it.")
  }

  /// A turn of the queue: the block in its scope, then the end of the event, as Apple's `perform` does it. The cache is
  /// checked once in each turn: rows that another process wrote before it are read anew.
  private func runTurn<T>(_ block: () -> T) -> T {
    PerformScope.run(self, outer: nil, holdsMainQueue: concurrencyType == .mainQueueConcurrencyType) {
      reading.needsCacheCheck = true
      let result = block()
      processEvent()
      return result
    }
  }
}
