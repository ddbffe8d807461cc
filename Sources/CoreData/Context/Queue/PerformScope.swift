internal import Glibc

/// The chain of `perform` and `performAndWait` calls of the current thread.
///
/// A nested call for a context in the chain runs inline instead of waiting for itself. ConcurrencyDebug asks it where
/// the thread is, and `NSFetchRequest.execute()` which context is meant.
///
///     context A.performAndWait {            scope A
///       context B.performAndWait {          scope B, outer: scope A
///         A.performAndWait { … }            inline: A is in the chain
///
/// It is a linked list on the stack of the calls, since the calls are nested: each holds its scope as long as its block
/// runs. The thread refers to the innermost one without counting it.
final class PerformScope {
  /// The context whose block runs.
  let context: NSManagedObjectContext
  /// The call around this one; nil for the outermost.
  let outer: PerformScope?
  /// The chain of the thread that lends its queues to this one, and runs it.
  private let lender: PerformScope?
  /// The chain began on the main queue, which waits for it.
  let holdsMainQueue: Bool

  private init(
    _ context: NSManagedObjectContext, outer: PerformScope?, lender: PerformScope?, holdsMainQueue: Bool
  ) {
    self.context = context
    self.outer = outer
    self.lender = lender
    self.holdsMainQueue = holdsMainQueue || lender?.holdsMainQueue ?? false
  }

  /// Runs the body with the context on top of the chain `outer`.
  ///
  /// The chain of the thread itself is put back at the end. It differs from `outer` when the thread runs a block for
  /// another one that waits (`QueueWait`): then the block has that one's chain, and may use what this thread holds as
  /// well.
  ///
  /// - Parameters:
  ///   - outer: the chain of the thread for which the body runs: mostly this one's.
  ///   - holdsMainQueue: whether the body may use objects of the main queue.
  static func run<T>(
    _ context: NSManagedObjectContext, outer: PerformScope?, holdsMainQueue: Bool, _ body: () throws -> T
  ) rethrows -> T {
    let before = current
    let lender = before === outer ? nil : before
    let scope = PerformScope(context, outer: outer, lender: lender, holdsMainQueue: holdsMainQueue)
    pthread_setspecific(key, Unmanaged.passUnretained(scope).toOpaque())
    defer { pthread_setspecific(key, before.map { Unmanaged.passUnretained($0).toOpaque() }) }
    return try withExtendedLifetime(scope) { try body() }
  }

  /// The innermost scope of this thread. Each access to a checked object asks for it, so it is a key of pthreads.
  /// Values of Swift's tasks would not do: a block of a queue does not run in a task.
  static var current: PerformScope? {
    pthread_getspecific(key).map { Unmanaged<PerformScope>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The innermost context whose block runs on this thread.
  static var currentContext: NSManagedObjectContext? { current?.context }

  /// Whether the current thread has the queue of the context.
  static func contains(_ context: NSManagedObjectContext) -> Bool { current?.includes(context) ?? false }

  /// Whether the context is in the chain that ends here, or lent to it.
  func includes(_ context: NSManagedObjectContext) -> Bool { contains { $0 === context } }

  /// Whether a context in the chain that ends here, or lent to it, fulfils the condition.
  func contains(where condition: (NSManagedObjectContext) -> Bool) -> Bool {
    var scope: PerformScope? = self
    while let next = scope {
      if condition(next.context) || next.lender?.contains(where: condition) ?? false { return true }
      scope = next.outer
    }
    return false
  }

  /// Whether the current thread may use objects of the main queue.
  static var isOnMainQueue: Bool {
    isMainQueueItself || current?.holdsMainQueue == true
  }

  /// Whether the current thread is the one that the main queue runs on. A program with an asynchronous `main` has its
  /// main queue on other threads than the main one, so both are asked.
  static var isMainQueueItself: Bool {
    _ = mainQueueMark
    return Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueueKey) != nil
  }

  /// A program with an asynchronous `main` runs its main queue on any thread, so the queue itself is marked.
  private static let mainQueueKey = DispatchSpecificKey<Bool>()
  private static let mainQueueMark: Void = DispatchQueue.main.setSpecific(key: mainQueueKey, value: true)

  private static let key: pthread_key_t = {
    var key: pthread_key_t = 0
    // It only fails if the process has used up all keys, at the first use.
    require(pthread_key_create(&key, nil) == 0, "No thread-specific key is left for Core Data.")
    return key
  }()
}
