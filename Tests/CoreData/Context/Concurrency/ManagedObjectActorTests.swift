import CoreData
import Synchronization
import Testing

/// An actor's code runs on the queue of its context, and nothing else of the context runs meanwhile.
@Suite struct ManagedObjectActorTests {
  @Test func methodsUseObjectsDirectlyAndIDsCross() async throws {
    let store = try TemporaryStore()
    let library = Library(store.context())
    let id = try await library.add("Emma")
    #expect(!id.isTemporaryID)
    #expect(try await library.title(of: id) == "Emma")
    #expect(await library.titleOfRecent == "Emma")
    #expect(try store.read { $0.object(with: id).text("title") } == "Emma")
  }

  @Test func aMissingObjectAndOneOfAnotherClassAreErrors() async throws {
    let store = try TemporaryStore()
    let library = Library(store.context())
    let id = try await library.add("Emma")
    await expectError(NSPersistentStoreOperationError) { _ = try await library.unrelated(id) }
    try store.save { $0.delete($0.object(with: id)) }
    let other = Library(store.context())
    await expectError(NSManagedObjectReferentialIntegrityError) { _ = try await other.title(of: id) }
    withExtendedLifetime(store) {}
  }

  @Test func aMethodStaysOnItsQueueAfterEachAwait() async throws {
    let library = Library(try libraryContext(NSInMemoryStoreType))
    #expect(try await library.uses(after: {}))
    #expect(try await library.uses(after: { await Task.yield() }))
    #expect(try await library.uses(after: { await Task.detached {}.value }))
    #expect(try await library.usesAfterAnEnqueuedBlock())
  }

  @Test func blocksOfItsContextRunInlineInAMethod() async throws {
    let library = Library(try libraryContext(NSInMemoryStoreType))
    #expect(await library.depth() == 3)
  }

  @Test func codeInBlocksOfTheContextIsIsolatedToTheActor() async throws {
    let context = try libraryContext(NSInMemoryStoreType)
    let library = Library(context)
    _ = try await library.add("Emma")
    #expect(titleInABlock(context, library) == "Emma")
  }

  private func titleInABlock(_ context: NSManagedObjectContext, _ library: Library) -> String? {
    context.performAndWait { library.assumeIsolated { $0.titleOfRecent } }
  }

  @Test func aMethodSeesTheLocalValuesOfItsTask() async throws {
    let library = Library(try libraryContext(NSInMemoryStoreType))
    #expect(await Trace.$name.withValue("import") { await library.trace() } == "import")
  }

  /// The blocks of the queue and the calls of the actor, whatever their priority:
  ///
  ///     block 1   task 2 (low)   block 3   task 4 (high)
  @Test func callsAndBlocksRunInTheOrderInWhichTheyArrive() async throws {
    let library = Library(try libraryContext(NSInMemoryStoreType))
    for task in await library.enqueueFour() { await task.value }
    #expect(await library.order == [1, 2, 3, 4])
  }

  @Test(.timeLimit(.minutes(20))) func actorsOfOneContextAndItsBlocksExcludeEachOther() async throws {
    let context = try libraryContext(NSInMemoryStoreType)
    let (first, second) = (Library(context), Library(context))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<3_000 {
        group.addTask {
          switch number % 3 {
          case 0: await first.count()
          case 1: await second.count(in: first)
          default: Self.count(context, first)
          }
        }
      }
    }
    #expect(await first.counted == 3_000)
  }

  private static func count(_ context: NSManagedObjectContext, _ library: Library) {
    context.performAndWait { library.assumeIsolated { $0.count() } }
  }

  @Test func theEventEndsAfterAMethod() async throws {
    let context = try libraryContext(NSInMemoryStoreType)
    let library = Library(context)
    let changes = Counter()
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { _ in changes.count.add(1, ordering: .relaxed) }
    defer { NotificationCenter.default.removeObserver(token) }
    await library.draft("Emma")
    // The next turn of the queue comes after the event.
    #expect(context.performAndWait { changes.count.load(ordering: .relaxed) } == 1)
  }

  @Test func methodsSeeUnsavedChangesWhereAnotherAwaits() async throws {
    let library = Library(try libraryContext(NSInMemoryStoreType))
    _ = try await library.add("Emma") {
      #expect(await library.hasChanges)
      await library.rollback()
    }
    #expect(try await library.titles() == [])
  }

  @Test func theLastCallMayReleaseTheActor() async throws {
    let coordinator = try #require(try libraryContext(NSInMemoryStoreType).persistentStoreCoordinator)
    for _ in 0..<300 {
      let context = coordinator.context()
      let isOnQueue = await withCheckedContinuation { continuation in
        Task { await Library(context, onEnd: { continuation.resume(returning: $0) }).draft("Emma") }
      }
      #expect(isOnQueue, "an isolated deinit runs on the queue")
    }
  }

  @Test func anExecutorThatIsNotStoredEndsTheProcess() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await Forgetful(NSManagedObjectContext(.privateQueue)).run()
    }
    expectSentence(result, "The actor Forgetful makes its executor anew for each access")
  }

  @Test func aMainQueueContextIsNotAnActors() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ManagedObjectContextExecutor(NSManagedObjectContext(.mainQueue))
    }
    expectSentence(result, "has no private queue")
  }

  @Test func codeElsewhereIsNotIsolated() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let library = Library(try libraryContext(NSInMemoryStoreType))
      library.preconditionIsolated()
    }
    expectSentence(result, "Incorrect actor executor assumption")
  }

  private func expectError(_ code: Int, _ body: () async throws -> Void) async {
    do {
      try await body()
      Issue.record("no error")
    } catch let error as NSError {
      #expect(error.code == code, "\(error)")
    }
  }
}

private enum Trace {
  @TaskLocal static var name = ""
}

private final class Counter: Sendable {
  let count = Atomic(0)
}

private final class Unrelated: NSManagedObject {}

/// Written as a program's actor would be: without a word that turns a check off.
private actor Library: ManagedObjectActor {
  nonisolated let executor: ManagedObjectContextExecutor
  private let onEnd: (@Sendable (Bool) -> Void)?
  private var recent: NSManagedObject?
  private(set) var order: [Int] = []
  private(set) var counted = 0

  init(_ context: NSManagedObjectContext, onEnd: (@Sendable (Bool) -> Void)? = nil) {
    executor = ManagedObjectContextExecutor(context)
    self.onEnd = onEnd
  }

  isolated deinit { onEnd?(executor.isIsolatingCurrentContext() ?? false) }

  var titleOfRecent: String? { recent?.text("title") }
  var hasChanges: Bool { context.hasChanges }

  func add(_ title: String, after pause: @Sendable () async throws -> Void = {}) async throws -> NSManagedObjectID {
    assertIsolated()
    let book = make(title)
    try await pause()
    if context.hasChanges { try context.save() }
    return book.objectID
  }

  func draft(_ title: String) { _ = make(title) }

  private func make(_ title: String) -> NSManagedObject {
    let book = context.make("Book", ["title": title])
    recent = book
    return book
  }

  func title(of id: NSManagedObjectID) throws -> String? { try object(id, as: NSManagedObject.self).text("title") }

  func unrelated(_ id: NSManagedObjectID) throws -> String? { try object(id, as: Unrelated.self).text("title") }

  func titles() throws -> [String?] {
    try fetch(NSFetchRequest<NSManagedObject>(entityName: "Book")).map { $0.text("title") }
  }

  func rollback() { context.rollback() }

  func uses(after pause: @Sendable () async -> Void) async throws -> Bool {
    await pause()
    _ = try titles()
    return executor.isIsolatingCurrentContext() == true
  }

  func usesAfterAnEnqueuedBlock() async throws -> Bool {
    let context = context
    await context.perform(schedule: .enqueued) {}
    _ = try titles()
    return executor.isIsolatingCurrentContext() == true
  }

  func depth() -> Int { context.performAndWait { context.performAndWait { 3 } } }

  func trace() -> String { Trace.name }

  func enqueueFour() -> [Task<Void, Never>] {
    context.perform { self.order.append(1) }
    let low = Task(priority: .low) { self.order.append(2) }
    context.perform { self.order.append(3) }
    let high = Task(priority: .high) { self.order.append(4) }
    return [low, high]
  }

  func count() { counted += 1 }

  func count(in other: Library) { other.assumeIsolated { $0.count() } }
}

private actor Forgetful: ManagedObjectActor {
  private let made: NSManagedObjectContext
  nonisolated var executor: ManagedObjectContextExecutor { ManagedObjectContextExecutor(made) }

  init(_ context: NSManagedObjectContext) { made = context }

  func run() {}
}
