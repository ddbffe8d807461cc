import Testing

@testable import CoreData

@Suite struct AsynchronousFetchTests {
  private func store(_ count: Int, options: [AnyHashable: Any]? = nil) throws -> TemporaryStore {
    let store = try TemporaryStore(LibraryModel.make(), options: options)
    try store.save { context in
      for number in 0..<count { context.make("Book", ["title": "\(10_000 + number)", "pages": number]) }
    }
    return store
  }

  private func books<T>(_ type: T.Type = NSManagedObject.self, where format: String? = nil) -> NSFetchRequest<T> {
    let request = NSFetchRequest<T>(entityName: "Book")
    request.predicate = format.map { NSPredicate(format: $0) }
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  /// Starts the request in the context and runs the body there. Returns the check's answer about the result.
  private func run<T, R: Sendable>(
    _ request: NSFetchRequest<T>, in context: NSManagedObjectContext, estimate: Int = 0,
    body: @escaping @Sendable (NSAsynchronousFetchResult<T>) -> Void = { _ in },
    check: @escaping @Sendable (NSAsynchronousFetchResult<T>) -> R
  ) async -> R {
    // `nonisolated(unsafe)`: the test waits and leaves the request to the context.
    nonisolated(unsafe) let request = request
    return await withCheckedContinuation { continuation in
      context.perform {
        let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
          continuation.resume(returning: check(result))
        }
        asynchronous.estimatedResultCount = estimate
        do {
          guard let result = try context.execute(asynchronous) as? NSAsynchronousFetchResult<T> else { fatalError() }
          body(result)
        } catch {
          fatalError("\(error)")
        }
      }
    }
  }

  @Test func theResultComesOnTheContextsQueueAndIsItsOwn() async throws {
    let store = try store(1000)
    let context = store.context()
    await run(books(where: "pages < 500"), in: context) { result in
      #expect(context.isOnItsQueue && result.managedObjectContext === context)
      #expect(result.operationError == nil && result.finalResult?.count == 500)
      #expect(result.finalResult?.first?.text("title") == "10000")
      #expect(result.finalResult?.allSatisfy { $0.managedObjectContext === context } == true)
      #expect(result.progress?.completedUnitCount == 500 && result.progress?.isFinished == true)
    }
  }

  /// Context                              | Fetch
  /// -------------------------------------+-----------------------------
  ///                                      | waits for the only reader
  /// starts the fetch, inserts, saves     |
  /// lets the reader go                   |
  ///                                      | reads, and gives what is saved and what is not
  @Test func theCallerGoesOnMeanwhile() async throws {
    let store = try store(10, options: [NSPersistentStoreConnectionPoolMaxSizeKey: NSNumber(value: 1)])
    let database = try #require(store.coordinator.persistentStores[0] as? SQLiteStore).database
    let isHeld = DispatchSemaphore(value: 0)
    let letGo = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      try? database.read { _ in
        isHeld.signal()
        letGo.wait()
      }
    }
    isHeld.wait()
    let context = store.context()
    let titles = await run(books(), in: context) { result in
      #expect(result.finalResult == nil)
      context.make("Book", ["title": "saved"])
      do { try context.save() } catch { Issue.record(error) }
      context.make("Book", ["title": "unsaved"])
      letGo.signal()
    } check: { result in
      result.finalResult?.compactMap { $0.text("title") } ?? []
    }
    #expect(titles.count == 12 && titles.suffix(2) == ["saved", "unsaved"])
  }

  @Test func itHasWhatAnOrdinaryFetchHas() async throws {
    let store = try store(100)
    let context = store.context()
    await context.perform {
      do {
        for book in try context.all("Book", where: "pages < 10") { context.delete(book) }
        for book in try context.all("Book", where: "pages == 50") { book.setValue("0", forKey: "title") }
      } catch { Issue.record(error) }
    }
    let windowed = books()
    windowed.fetchLimit = 5
    windowed.fetchOffset = 3
    windowed.returnsObjectsAsFaults = false
    let ids = books(NSManagedObjectID.self)
    ids.resultType = .managedObjectIDResultType
    let dictionaries = books(NSDictionary.self)
    dictionaries.resultType = .dictionaryResultType
    dictionaries.fetchLimit = 7
    // `nonisolated(unsafe)`: nobody changes the requests from here on.
    nonisolated(unsafe) let expected = (windowed, ids, dictionaries)
    await run(windowed, in: context) { result in
      #expect(result.finalResult == (try? context.fetch(expected.0)))
      #expect(result.finalResult?.allSatisfy { !$0.isFault } == true)
    }
    await run(ids, in: context) { result in #expect(result.finalResult == (try? context.fetch(expected.1))) }
    await run(dictionaries, in: context) { result in
      #expect(result.finalResult?.count == 7 && result.finalResult == (try? context.fetch(expected.2)))
    }
  }

  @Test func aChildSeesWhatItsParentHasNotSaved() async throws {
    let store = try store(3)
    let parent = store.context()
    let child = parent.child()
    await parent.perform { _ = parent.make("Book", ["title": "unsaved"]) }
    let titles = await run(books(), in: child) { $0.finalResult?.compactMap { $0.text("title") } ?? [] }
    #expect(titles == ["10000", "10001", "10002", "unsaved"])
  }

  @Test func whatIsSavedMeanwhileIsNotCoveredByWhatWasReadBefore() async throws {
    let store = try store(1)
    let context = store.context()
    let other = store.context()
    let title = await run(books(), in: context) { _ in
      // The reader may have finished reading; it completes after this block.
      other.performAndWait {
        do {
          try other.all("Book")[0].setValue("changed", forKey: "title")
          try other.save()
        } catch { Issue.record(error) }
      }
    } check: {
      $0.finalResult?.first?.text("title")
    }
    #expect(title == "changed")
  }

  @Test func aCancelledFetchCompletesWithAnErrorAndNoResult() async throws {
    let store = try store(10)
    let context = store.context()
    for way in 0..<2 {
      let code = await run(books(), in: context) { result in
        if way == 0 { result.cancel() } else { result.progress?.cancel() }
      } check: { result in
        result.finalResult == nil ? (result.operationError as NSError?)?.code : nil
      }
      #expect(code == 3072)
    }
  }

  @Test func cancellingEndsAStatementThatRuns() async throws {
    let store = try store(1)
    let database = try #require(store.coordinator.persistentStores[0] as? SQLiteStore).database
    let control = FetchControl()
    let isRunning = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      isRunning.wait()
      control.cancel()
    }
    // The query only ends by the cancellation.
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    let error = #expect(throws: SQLiteError.self) {
      try database.read(control) { connection in
        let statement = try connection.statement(endless)
        defer { statement.reset() }
        while try statement.step() { if statement.integer(0) == 1000 { isRunning.signal() } }
      }
    }
    #expect(error?.primaryCode == 9)
    // The connection can still be used.
    #expect(try database.read { try $0.integer("SELECT count(*) FROM ZBOOK") } == 1)
  }

  /// A text for which `(a+)+$` tries ways for seconds. SQLite ends no function, so that it must end itself.
  private static let longMatch = String(repeating: "a", count: 60) + "b"

  @Test(.timeLimit(.minutes(20)))
  func cancellingEndsAMatchThatRuns() throws {
    let store = try store(1)
    let database = try #require(store.coordinator.persistentStores[0] as? SQLiteStore).database
    let control = FetchControl()
    control.cancel()
    let error = #expect(throws: SQLiteError.self) {
      try database.read(control) { connection in
        try connection.integer("SELECT cd_matches(\(bind: .text(Self.longMatch)), '(a+)+$', 0)")
      }
    }
    #expect(error?.primaryCode == 9)
    // The connection can still be used, also for matches.
    #expect(try database.read { try $0.integer("SELECT cd_matches('aa', '(a+)+$', 0)") } == 1)
  }

  @Test(.timeLimit(.minutes(20)))
  func interruptingStatementsEndsAMatchThatRuns() throws {
    let store = try store(0)
    try store.save { $0.make("Book", ["title": Self.longMatch]) }
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now(), repeating: .milliseconds(10))
    timer.setEventHandler { [coordinator = store.coordinator] in coordinator.interruptStatements() }
    timer.resume()
    defer { timer.cancel() }
    let context = store.context()
    let count = context.performAndWait {
      Result { try context.count(for: self.books(where: "title MATCHES '(a+)+$'")) }
    }
    #expect(throws: (any Error).self) { try count.get() }
  }

  @Test func errorsComeWithTheResult() async throws {
    let store = try store(1)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Nothing")
    let code = await run(request, in: store.context()) { ($0.operationError as NSError?)?.code }
    #expect(code == 134070)
  }

  @Test func theProgressBelongsToTheCurrentOneAndCountsAgainstTheEstimate() async throws {
    let store = try store(700)
    let context = store.context()
    let whole = Progress(totalUnitCount: 10)
    let request = books()
    // `nonisolated(unsafe)`: used by the context only from here on.
    nonisolated(unsafe) let fetch = request
    await withCheckedContinuation { continuation in
      context.perform {
        whole.becomeCurrent(withPendingUnitCount: 10)
        let asynchronous = NSAsynchronousFetchRequest(fetchRequest: fetch) { result in
          #expect(result.progress?.totalUnitCount == 700 && result.progress?.completedUnitCount == 700)
          #expect(whole.fractionCompleted == 1)
          continuation.resume()
        }
        asynchronous.estimatedResultCount = 1000
        do {
          let result = try context.execute(asynchronous) as? NSPersistentStoreAsynchronousResult
          #expect(result?.progress?.totalUnitCount == 1000 && result?.progress?.isCancellable == true)
        } catch { Issue.record(error) }
        whole.resignCurrent()
      }
    }
  }

  @Test func aContextWithoutAQueueIsRefused() throws {
    let store = try store(1)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = store.coordinator
    let request = NSAsynchronousFetchRequest(fetchRequest: books(), completionBlock: nil)
    #expect(throws: NSError.self) { try context.execute(request) }
  }
}
