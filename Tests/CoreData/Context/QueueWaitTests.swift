import TestFiles
import Testing

@testable import CoreData

/// Threads that wait for contexts above and below their own, each waiting until another one goes on.
@Suite struct QueueWaitTests {
  /// Runs the body on a thread of its own. False if it does not end: a test must fail then, not hang.
  private func ends(_ body: @escaping () throws -> Void) async -> Bool {
    // `nonisolated(unsafe)`: used by the new thread only.
    nonisolated(unsafe) let body = body
    let ended: Result<Bool, any Error> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        let done = DispatchSemaphore(value: 0)
        // `nonisolated(unsafe)`: read after `done`.
        nonisolated(unsafe) var failure: (any Error)?
        Thread.detachNewThread {
          do { try body() } catch { failure = error }
          done.signal()
        }
        guard done.wait(timeout: TestLimit.time) == .success else {
          return continuation.resume(returning: .success(false))
        }
        continuation.resume(returning: failure.map { .failure($0) } ?? .success(true))
      }
    }
    do { return try ended.get() } catch {
      Issue.record(error)
      return true
    }
  }

  private func library() throws -> (TemporaryStore, [NSManagedObjectID]) {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      (0..<3).map { context.make("Book", ["title": "\($0)", "pages": $0]) }
    }.map(\.objectID)
    return (store, ids)
  }

  /// A context, one below it, and one below that.
  private func line(from root: NSManagedObjectContext) -> (middle: NSManagedObjectContext, last: NSManagedObjectContext)
  {
    let middle = root.child()
    return (middle, middle.child())
  }

  /// Lets the context read through those above it, and returns when it begins to.
  private func beginReading(_ id: NSManagedObjectID, in context: NSManagedObjectContext) {
    let begun = DispatchSemaphore(value: 0)
    context.perform {
      begun.signal()
      _ = context.object(with: id).text("title")
    }
    begun.wait()
  }

  // thread with the parent's queue     child's queue
  // saves: queues the child's merge
  //                                    merges: asks the parent, whose queue is taken
  // child.performAndWait: waits
  @Test func aChildMergesWhileItsPrivateParentWaitsForIt() async throws {
    let (store, ids) = try library()
    let parent = store.context()
    let child = parent.child()
    child.automaticallyMergesChangesFromParent = true
    let ended = await ends {
      let book = try child.performAndWait { try child.existingObject(with: ids[0]) }
      for title in ["first", "second", "third"] {
        let merged = try parent.performAndWait {
          parent.object(with: ids[0]).setValue(title, forKey: "title")
          try parent.save()
          return child.performAndWait { book.text("title") }
        }
        #expect(merged == title)
      }
    }
    #expect(ended)
  }

  // thread with the parent's queue     child's queue
  //                                    says that it begins
  //                                    saves: waits for the parent
  // child.performAndWait: waits
  @Test func aChildSavesWhileItsPrivateParentWaitsForIt() async throws {
    let (store, _) = try library()
    let parent = store.context()
    let child = parent.child()
    let ended = await ends {
      try parent.performAndWait {
        let begun = DispatchSemaphore(value: 0)
        child.perform {
          child.make("Book", ["title": "the child's"])
          begun.signal()
          do { try child.save() } catch { Issue.record(error) }
        }
        begun.wait()
        let hasChanges = child.performAndWait { child.hasChanges }
        #expect(!hasChanges)
        #expect(parent.insertedObjects.map { $0.text("title") } == ["the child's"])
        try parent.save()
      }
    }
    #expect(ended)
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["4"]])
  }

  // thread with the root's queue       child's queue                      grandchild's queue
  //                                    says that it begins
  //                                    reads through the root: waits
  // grandchild.performAndWait: waits
  //                                                                       reads through the child
  @Test func aGrandchildReadsWhileItsPrivateGrandparentWaitsForIt() async throws {
    let (store, ids) = try library()
    let root = store.context()
    let (child, grandchild) = line(from: root)
    let ended = await ends {
      let titles = try root.performAndWait {
        beginReading(ids[0], in: child)
        return try grandchild.performAndWait { try ids.map { try grandchild.existingObject(with: $0).text("title") } }
      }
      #expect(titles == ["0", "1", "2"])
    }
    #expect(ended)
  }

  // thread with the queues of root and parent     child's queue
  //                                               says that it begins
  //                                               reads through the parent: waits
  // child.performAndWait: waits
  // lends the parent, which reads through the root: this thread has its queue, too
  @Test func aThreadLendsAllQueuesThatItHas() async throws {
    let (store, ids) = try library()
    let root = store.context()
    let (parent, child) = line(from: root)
    let ended = await ends {
      let title: String? = root.performAndWait {
        parent.performAndWait { () -> String? in
          beginReading(ids[0], in: child)
          return child.performAndWait { child.object(with: ids[0]).text("title") }
        }
      }
      #expect(title == "0")
    }
    #expect(ended)
  }

  // main queue                                    child's queue
  // parent.performAndWait
  //                                               reads through the private parent: waits
  // child.performAndWait: waits
  @Test func theMainQueueLendsPrivateQueuesToo() async throws {
    let (store, ids) = try library()
    let main = NSManagedObjectContext(.mainQueue)
    main.persistentStoreCoordinator = store.coordinator
    let (parent, child) = line(from: main)
    let ended = await ends {
      let title: String? = main.performAndWait {
        parent.performAndWait { () -> String? in
          beginReading(ids[0], in: child)
          return child.performAndWait { child.object(with: ids[0]).text("title") }
        }
      }
      #expect(title == "0")
    }
    #expect(ended)
  }

  // thread with the root's queue                  main queue, child of the root
  //                                               says that it begins
  //                                               reads through the root: waits
  // main.performAndWait: waits
  @Test func aPrivateRootWaitsForTheMainQueueThatReadsThroughIt() async throws {
    let (store, ids) = try library()
    let root = store.context()
    let main = NSManagedObjectContext(.mainQueue)
    main.parent = root
    let ended = await ends {
      let title: String? = root.performAndWait {
        let begun = DispatchSemaphore(value: 0)
        DispatchQueue.main.async {
          begun.signal()
          _ = main.object(with: ids[0]).text("title")
        }
        begun.wait()
        return main.performAndWait { main.object(with: ids[0]).text("title") }
      }
      #expect(title == "0")
    }
    #expect(ended)
  }

  @Test func aChildReadsAfterTheBlocksThatItsParentGotBefore() async throws {
    let (store, ids) = try library()
    let parent = store.context()
    let child = parent.child()
    let ended = await ends {
      for round in 0..<100 {
        parent.perform { parent.object(with: ids[0]).setValue("\(round)", forKey: "title") }
        let title: String? = child.performAndWait {
          let book = child.object(with: ids[0])
          child.refresh(book, mergeChanges: false)
          return book.text("title")
        }
        #expect(title == "\(round)")
      }
    }
    #expect(ended)
  }

  @Test func aQueueIsIdleOnceAllAnnouncedBlocksHaveRun() {
    let turns = QueueTurns()
    #expect(turns.runIfIdle { 1 } == 1)
    turns.announce()
    #expect(turns.runIfIdle { 2 } == nil)
    turns.begin()
    #expect(turns.runIfIdle { 3 } == nil)
    turns.end()
    #expect(turns.runIfIdle { turns.runIfIdle { 4 } } == .some(nil))
    #expect(turns.runIfIdle { 5 } == 5)
  }

  /// A count that only blocks of one context change, in two steps.
  ///
  /// `@unchecked Sendable`: used on the context's queue, and by the test at the end.
  private final class Count: @unchecked Sendable {
    var value = 0

    func add() {
      let before = value
      sched_yield()
      value = before + 1
    }
  }

  /// Threads go up and down a tree of contexts while they have other queues of the tree.
  @Test(arguments: [NSManagedObjectContext.ConcurrencyType.privateQueue, .mainQueue], [1, 2] as [UInt64])
  func manyThreadsInOneTreeNeitherStopNorMeet(type: NSManagedObjectContext.ConcurrencyType, seed: UInt64) async throws {
    var tree = [NSManagedObjectContext(type)]
    // Each context has two below it.
    for index in 1..<7 { tree.append(tree[(index - 1) / 2].child()) }
    let contexts = tree
    let (counts, visits) = (tree.map { _ in Count() }, tree.map { _ in Count() })
    let lock = NSLock()

    /// Visits a context, and one next to it from inside its block.
    @Sendable func visit(_ index: Int, depth: Int, _ random: inout SeededGenerator) {
      lock.withLock { visits[index].value += 1 }
      contexts[index].performAndWait {
        counts[index].add()
        let next = [(index - 1) / 2, index * 2 + 1, index * 2 + 2].randomElement(using: &random) ?? 0
        if depth > 0 && next != index && next < contexts.count { visit(next, depth: depth - 1, &random) }
      }
    }
    let ended = await withTaskGroup(of: Bool.self) { group in
      for thread in 0..<6 {
        group.addTask {
          await ends {
            var random = SeededGenerator(seed: seed * 100 + UInt64(thread))
            for _ in 0..<300 {
              let (index, depth) = (Int.random(in: 0..<7, using: &random), Int.random(in: 0..<5, using: &random))
              visit(index, depth: depth, &random)
            }
          }
        }
      }
      return await group.allSatisfy { $0 }
    }
    #expect(ended)
    #expect(counts.map(\.value) == visits.map(\.value))
  }
}
