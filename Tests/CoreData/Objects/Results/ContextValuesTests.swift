import CoreData
import Testing

/// Fetched results and objects as asynchronous sequences.
@Suite(.timeLimit(.minutes(20))) struct ContextValuesTests {
  private static func request(_ predicate: String? = nil) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = predicate.map { NSPredicate(format: $0) }
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  private static func titles(
    in context: NSManagedObjectContext, _ predicate: String? = nil, every interval: Duration? = nil
  ) -> ContextValues<FetchedSnapshot<String>> {
    context.values(for: request(predicate), every: interval) { $0.value(forKey: "title") as? String ?? "" }
  }

  /// A store with books of these titles.
  private static func store(_ titles: String..., options: [AnyHashable: Any]? = nil) throws -> TemporaryStore {
    let store = try TemporaryStore(options: options)
    try store.save { context in
      for title in titles { context.make("Book", ["title": title]) }
    }
    return store
  }

  // MARK: Results

  @Test func thePresentResultsComeFirstAndThenThoseAfterEachChange() async throws {
    let store = try Self.store("B", "C")
    let context = store.context()
    var elements = Self.titles(in: context, "title != 'X'").makeAsyncIterator()
    let first = try #require(try await elements.next())
    #expect(first.values == ["B", "C"])
    #expect(first.difference.insertions.count == 2 && first.difference.removals.isEmpty && first.updatedIDs.isEmpty)

    // An unsaved object has a temporary ID, which its save replaces.
    await context.perform { _ = context.make("Book", ["title": "A"]) }
    let second = try #require(try await elements.next())
    #expect(second.values == ["A", "B", "C"] && second.objectIDs[0].isTemporaryID)
    #expect(second.difference.insertions.count == 1 && second.difference.removals.isEmpty)
    try await context.perform { try context.save() }
    let third = try #require(try await elements.next())
    #expect(third.values == ["A", "B", "C"] && !third.objectIDs[0].isTemporaryID)

    // A change that does not touch the results brings no element: the next one is of the change after it.
    try await context.perform {
      context.make("Tag", ["label": "T"])
      context.make("Book", ["title": "X"])
      try context.save()
      context.delete(try context.all("Book", where: "title == 'C'")[0])
    }
    let fourth = try #require(try await elements.next())
    #expect(fourth.values == ["A", "B"] && fourth.count == 2 && fourth[1] == "B")
    #expect(fourth.difference.removals.count == 1 && fourth.difference.insertions.isEmpty)
  }

  @Test func otherValuesAreUpdatesAndOtherPlacesAreMoves() async throws {
    let store = try Self.store("A", "B", "C")
    let context = store.context()
    var elements = context.values(for: Self.request()) { $0.value(forKey: "pages") as? Int }.makeAsyncIterator()
    let first = try #require(try await elements.next())
    #expect(first.values == [0, 0, 0])

    await context.perform { context.object(with: first.objectIDs[1]).setValue(7, forKey: "pages") }
    let updated = try #require(try await elements.next())
    #expect(updated.values == [0, 7, 0] && updated.updatedIDs == [first.objectIDs[1]] && updated.difference.isEmpty)

    await context.perform { context.object(with: first.objectIDs[1]).setValue("Z", forKey: "title") }
    let moved = try #require(try await elements.next())
    #expect(moved.values == [0, 0, 7])
    #expect(moved.objectIDs == [first.objectIDs[0], first.objectIDs[2], first.objectIDs[1]])
    let changes = Array(moved.difference)
    #expect(changes.count == 2)
    for change in changes {
      switch change {
      case .insert(_, _, let partner), .remove(_, _, let partner): #expect(partner != nil)
      }
    }
  }

  @Test func aSlowConsumerGetsTheNewestResultsOnce() async throws {
    let store = try Self.store()
    let context = store.context()
    var elements = Self.titles(in: context).makeAsyncIterator()
    #expect(try await elements.next()?.isEmpty == true)
    for number in 0..<10 {
      try await context.perform {
        context.make("Book", ["title": "\(number)"])
        try context.save()
      }
    }
    let second = try #require(try await elements.next())
    #expect(second.count == 10 && second.difference.insertions.count == 10)
    await context.perform { _ = context.make("Book", ["title": "A"]) }
    #expect(try await elements.next()?.count == 11)
  }

  @Test func aResetFetchesTheResultsAgain() async throws {
    let store = try Self.store("A")
    let context = store.context()
    var elements = Self.titles(in: context).makeAsyncIterator()
    #expect(try await elements.next()?.values == ["A"])
    try store.save { $0.make("Book", ["title": "B"]) }
    await context.perform { context.reset() }
    let second = try #require(try await elements.next())
    #expect(second.values == ["A", "B"] && second.updatedIDs == [second.objectIDs[0]])
    await context.perform { _ = context.make("Book", ["title": "C"]) }
    #expect(try await elements.next()?.values == ["A", "B", "C"])
  }

  @Test func theShortestTimeBetweenElementsIsKept() async throws {
    let store = try Self.store()
    let context = store.context()
    let interval = Duration.milliseconds(50)
    var elements = Self.titles(in: context, every: interval).makeAsyncIterator()
    _ = try await elements.next()
    let start = ContinuousClock.now
    for number in 1...3 {
      await context.perform { _ = context.make("Book", ["title": "\(number)"]) }
      #expect(try await elements.next()?.count == number)
    }
    #expect(ContinuousClock.now - start > interval * 2)
  }

  // MARK: Other contexts and processes

  @Test func savesOfAnotherContextComeWithTheirMerge() async throws {
    let store = try Self.store("A")
    let context = store.context()
    await context.perform { context.automaticallyMergesChangesFromParent = true }
    var elements = Self.titles(in: context, "title < 'M'").makeAsyncIterator()
    #expect(try await elements.next()?.values == ["A"])
    try store.save { other in
      try other.all("Book")[0].setValue("C", forKey: "title")
      other.make("Book", ["title": "B"])
      other.make("Book", ["title": "Z"])
    }
    let merged = try #require(try await elements.next())
    #expect(merged.values == ["B", "C"])
    #expect(merged.updatedIDs.count == 1 && merged.difference.insertions.count == 1)
  }

  @Test func commitsOfAnotherProcessComeWithTheMergeOfItsHistory() async throws {
    let store = try Self.store(
      "A",
      options: [NSPersistentHistoryTrackingKey: true, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true])
    let context = store.context()
    var elements = Self.titles(in: context).makeAsyncIterator()
    #expect(try await elements.next()?.values == ["A"])
    let notifications = NotificationCenter.default.notifications(
      named: .NSPersistentStoreRemoteChange, object: store.coordinator)
    var commits = notifications.makeAsyncIterator()
    await #expect(processExitsWith: .success) { [path = store.url.path as String] in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: path),
        options: [NSPersistentHistoryTrackingKey: true])
      let context = coordinator.context()
      context.transactionAuthor = "other"
      try context.performAndWait {
        context.make("Book", ["title": "B"])
        try context.save()
      }
    }
    // Another commit may be told of first.
    var isMerged = false
    while !isMerged {
      _ = await commits.next()
      isMerged = try await context.perform {
        let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
        let result = try context.execute(request) as? NSPersistentHistoryResult
        let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
        let others = transactions.filter { $0.author == "other" }
        for transaction in others { context.mergeChanges(fromContextDidSave: transaction.objectIDNotification()) }
        return !others.isEmpty
      }
    }
    #expect(try await elements.next()?.values == ["A", "B"])
  }

  // MARK: The end

  /// Tells when it is freed.
  private final class Token: Sendable {
    private let continuation: AsyncStream<Void>.Continuation

    init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

    deinit { continuation.yield() }
  }

  /// Where the loop ends: at its first element by itself, or by a cancellation while it waits for the second.
  @Test(arguments: [false, true])
  func theObservationEndsWithTheLoop(isCancelled: Bool) async throws {
    let store = try Self.store("A")
    let context = store.context()
    let (freed, freeing) = AsyncStream<Void>.makeStream()
    let (elements, element) = AsyncStream<Int>.makeStream()
    func observe(_ token: Token) async throws {
      let values = context.values(for: Self.request()) { [token] book in
        withExtendedLifetime(token) { book.objectID }
      }
      let task = Task {
        var count = 0
        for try await ids in values {
          count += 1
          element.yield(ids.count)
          if !isCancelled { break }
        }
        return count
      }
      var first = elements.makeAsyncIterator()
      #expect(await first.next() == 1)
      if isCancelled { task.cancel() }
      #expect(try await task.value == 1)
    }
    try await observe(Token(freeing))
    var last = freed.makeAsyncIterator()
    #expect(await last.next() != nil)
    // Nobody follows this any more.
    try await context.perform {
      context.make("Book", ["title": "B"])
      try context.save()
    }
  }

  @Test func aPauseEndsWithItsTask() async throws {
    let store = try Self.store("A")
    let context = store.context()
    let (elements, element) = AsyncStream<Int>.makeStream()
    let task = Task {
      var count = 0
      for try await titles in Self.titles(in: context, every: .seconds(3600)) {
        count += 1
        element.yield(titles.count)
      }
      return count
    }
    var first = elements.makeAsyncIterator()
    #expect(await first.next() == 1)
    await context.perform { _ = context.make("Book", ["title": "B"]) }
    task.cancel()
    #expect(try await task.value == 1)
  }

  private struct Refusal: Error {}

  @Test func errorsEndTheSequence() async throws {
    let store = try Self.store("A")
    let context = store.context()
    var refused = context.values(for: Self.request()) { book -> Int in
      guard book.value(forKey: "title") as? String == "A" else { throw Refusal() }
      return 1
    }.makeAsyncIterator()
    #expect(try await refused.next()?.values == [1])
    await context.perform { _ = context.make("Book", ["title": "B"]) }
    await #expect(throws: Refusal.self) { try await refused.next() }
    #expect(try await refused.next() == nil)

    var unknown = Self.titles(in: context, "publisher == 'P'").makeAsyncIterator()
    let error = await #expect(throws: CocoaError.self) { try await unknown.next() }
    #expect(error?.code == .persistentStoreOperation)
    #expect(try await unknown.next() == nil)

    let id = try await context.perform { try context.all("Book", sort: "title")[0].objectID }
    var unrelated = context.values(of: id, as: Unrelated.self) { $0.isFault }.makeAsyncIterator()
    let ofClass = await #expect(throws: CocoaError.self) { try await unrelated.next() }
    #expect(ofClass?.code == .persistentStoreOperation)
  }

  private final class Unrelated: NSManagedObject {}

  // MARK: One object

  @Test func anObjectsValuesComeUntilItIsDeleted() async throws {
    let store = try Self.store("A", "B")
    let context = store.context()
    let ids = try await context.perform { try context.all("Book", sort: "title").map(\.objectID) }
    var titles = context.values(of: ids[0], as: NSManagedObject.self) { $0.value(forKey: "title") as? String }
      .makeAsyncIterator()
    #expect(try await titles.next() == "A")
    await context.perform { context.object(with: ids[1]).setValue("other", forKey: "title") }
    await context.perform { context.object(with: ids[0]).setValue("AA", forKey: "title") }
    #expect(try await titles.next() == "AA")
    try await context.perform { try context.save() }
    try store.save { try $0.existingObject(with: ids[0]).setValue("AAA", forKey: "title") }
    await context.perform { context.refreshAllObjects() }
    #expect(try await titles.next() == "AAA")
    await context.perform { context.reset() }
    #expect(try await titles.next() == "AAA")
    await context.perform { context.delete(context.object(with: ids[0])) }
    #expect(try await titles.next() == nil)
    try await context.perform { try context.save() }
    var gone = context.values(of: ids[0], as: NSManagedObject.self) { $0.isFault }.makeAsyncIterator()
    #expect(try await gone.next() == nil)
  }

  // MARK: The main actor

  @Test @MainActor func aMainQueueContextGivesItsObjects() async throws {
    let store = try Self.store("A")
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = store.coordinator
    var seen: [[String]] = []
    for try await books in context.values(for: Self.request()) {
      seen.append(books.map { $0.value(forKey: "title") as? String ?? "" })
      #expect(books.allSatisfy { $0.managedObjectContext === context })
      if books.count == 3 { break }
      context.make("Book", ["title": "B\(books.count)"])
    }
    #expect(seen == [["A"], ["A", "B1"], ["A", "B1", "B2"]])
  }

  @Test func objectsOfAPrivateQueueStayThere() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await MainActor.run {
        let context = NSManagedObjectContext(.privateQueue)
        _ = context.values(for: NSFetchRequest<NSManagedObject>(entityName: "Book"))
      }
    }
    expectSentence(result, "is not the main queue's: give values(for:) a closure")
  }
}
