/// Runs the code of an actor on the queue of a private-queue context: see ``ManagedObjectActor``.
///
/// ```swift
/// actor Library: ManagedObjectActor {
///   nonisolated let executor: ManagedObjectContextExecutor
///
///   init(_ container: NSPersistentContainer) {
///     executor = ManagedObjectContextExecutor(container.newBackgroundContext())
///   }
/// }
/// ```
///
/// Each stretch of the actor's code from one `await` to the next is a block of the context, as if by `perform(_:)`: it
/// waits behind the blocks that are in the queue, the task's priority has no effect, and the event ends after it. Code
/// in the context's own `perform` and `performAndWait` is isolated to the actor too, so that `assumeIsolated` works
/// there.
///
/// The executor retains the context, and the actor retains the executor. Several actors may have executors of one
/// context: their code never runs at the same time.
///
/// Not part of Apple's API.
public final class ManagedObjectContextExecutor: SerialExecutor {
  /// The context whose queue runs the jobs. The executor and each enqueued job retain it.
  let context: NSManagedObjectContext

  /// An executor on the context's queue. Traps for a context of the main queue, whose objects belong to the main actor,
  /// and for a confinement context, which has no queue. Any thread may call it.
  ///
  /// - Parameter context: a private-queue context that only the actor uses, or whose other users expect changes by the
  ///   actor.
  public init(_ context: NSManagedObjectContext) {
    require(
      context.concurrencyType == .privateQueueConcurrencyType,
      "The context \(context.label) cannot be that of an actor: it has no private queue. Use the objects of a "
        + "main-queue context on the main actor.")
    self.context = context
  }

  /// Runs the job as a block of the context. The runtime calls it, on any thread, for each stretch of the actor's code.
  ///
  /// Several actors of one context, and the program's own `perform` blocks, are in one order, that of the calls:
  ///
  /// ```text
  /// task A                     task B                      the context's queue
  /// await library.add("Emma")
  ///                            context.perform { … }
  ///                                                        add, up to its first await
  ///                                                        the block
  ///                                                        add, to its end
  /// ```
  ///
  /// - Parameter job: the stretch of code; it runs once.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // The block holds the executor: the job may release the actor, which held it.
    context.enqueue { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Whether the current thread runs code of the context. The runtime asks for `assumeIsolated`, `assertIsolated` and
  /// `preconditionIsolated`.
  ///
  /// - Returns: true inside of the actor's code and of blocks of the context, false elsewhere; never nil.
  public func isIsolatingCurrentContext() -> Bool? { context.isOnItsQueue }
}
