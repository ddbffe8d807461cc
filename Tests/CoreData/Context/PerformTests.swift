import CoreData
import Synchronization
import Testing

@Suite struct PerformTests {
  private struct Failure: Error, Equatable { let number: Int }

  @Test func performAndWaitReturnsThrowsAndNests() throws {
    let store = try TemporaryStore()
    let (first, second) = (store.context(), store.context())
    #expect(first.performAndWait { 7 } == 7)
    #expect(throws: Failure(number: 1)) { try first.performAndWait { throw Failure(number: 1) } }
    // It runs inline in a block of the same context, even with another context's block between: no deadlock.
    let depth = first.performAndWait {
      first.performAndWait { second.performAndWait { first.performAndWait { second.performAndWait { 5 } } } }
    }
    #expect(depth == 5)
  }

  @Test func asyncPerformReturnsAndThrowsWhatTheBlockDoes() async throws {
    let store = try TemporaryStore()
    let context = store.context()
    let count = try await context.perform {
      context.make("Book", ["title": "One"])
      try context.save()
      return try context.all("Book").count
    }
    #expect(count == 1)
    await #expect(throws: Failure(number: 2)) { try await context.perform { throw Failure(number: 2) } }
  }

  @Test func blocksRunInOrderOneAtATime() async throws {
    let store = try TemporaryStore()
    let context = store.context()
    // `nonisolated(unsafe)`: used in blocks of one context, which run one at a time.
    nonisolated(unsafe) var order: [Int] = []
    for number in 0..<100 { enqueue(context) { order.append(number) } }
    let seen = await context.perform(schedule: .enqueued) { order }
    #expect(seen == Array(0..<100))
  }

  private func enqueue(_ context: NSManagedObjectContext, _ block: @escaping @Sendable () -> Void) {
    context.perform(block)
  }

  /// Runs a task's code in blocks of a context.
  private final class ContextExecutor: TaskExecutor {
    private let context: NSManagedObjectContext
    init(_ context: NSManagedObjectContext) { self.context = context }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      context.perform { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  private final class Order: Sendable {
    private let names = Mutex<[String]>([])
    func add(_ name: String) { names.withLock { $0.append(name) } }
    var all: [String] { names.withLock { $0 } }
  }

  @Test func onTheQueueAnImmediateBlockRunsAtOnceAndAnEnqueuedOneAtTheBack() async throws {
    let store = try TemporaryStore()
    let context = store.context()
    let order = Order()
    await withTaskExecutorPreference(ContextExecutor(context)) {
      enqueue(context) { order.add("enqueued before") }
      await context.perform(schedule: .immediate) { order.add("immediate") }
      await context.perform(schedule: .enqueued) { order.add("enqueued") }
    }
    #expect(order.all == ["immediate", "enqueued before", "enqueued"])
  }

  @Test func aChildWaitsForItsParentWithoutDeadlock() async throws {
    let store = try TemporaryStore()
    let parent = store.context()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let child = parent.child()
          for turn in 0..<10 {
            try? await child.perform {
              child.make("Book", ["title": "\(number)-\(turn)"])
              try child.save()
            }
          }
        }
      }
    }
    try await parent.perform {
      #expect(parent.insertedObjects.count == 80)
      try parent.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["80"]])
  }

  @Test @MainActor func theMainContextBelongsToTheMainThread() throws {
    let store = try TemporaryStore()
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = store.coordinator
    // The main thread needs no block, and a block runs inline there.
    let book = context.make("Book", ["title": "One"])
    context.performAndWait { book.setValue("Two", forKey: "title") }
    try context.save()
    try #expect(context.all("Book").map { $0.text("title") } == ["Two"])
    // A child on a private queue saves into it while the main thread waits.
    let child = store.coordinator.context()
    try child.performAndWait {
      try child.all("Book")[0].setValue("Three", forKey: "title")
      try child.save()
    }
    context.refresh(book, mergeChanges: false)
    #expect(book.text("title") == "Three")
    // The main thread waits for the private queue, which may therefore use the main context.
    let title = child.performAndWait { context.performAndWait { book.text("title") } }
    #expect(title == "Three")
  }

  @Test func othersReachTheMainContextThroughPerform() async throws {
    let store = try TemporaryStore()
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = store.coordinator
    let count = try await context.perform {
      dispatchPrecondition(condition: .onQueue(.main))
      context.make("Book", ["title": "One"])
      try context.save()
      return try context.all("Book").count
    }
    #expect(count == 1)
  }

  /// The changes of one turn of the main queue are posted at its end without any call.
  @Test func theMainQueuesChangesAreToldAtTheEndOfTheTurn() async throws {
    let store = try TemporaryStore()
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = store.coordinator
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { continuation.yield(($0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0) }
    defer { NotificationCenter.default.removeObserver(token) }
    await MainActor.run {
      context.make("Book")
      context.make("Book")
    }
    var counts = stream.makeAsyncIterator()
    #expect(await counts.next() == 2)
  }
}
