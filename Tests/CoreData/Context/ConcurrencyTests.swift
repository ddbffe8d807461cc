import CoreData
import Testing

/// Several contexts on several queues on one coordinator, all at once.
@Suite struct ConcurrencyTests {
  @Test func readersAndWritersOfOneCoordinatorLoseAndInventNothing() async throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      (0..<20).map { context.make("Book", ["title": "b\($0)", "pages": 0]) }
    }.map(\.objectID)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          let context = store.context()
          context.mergePolicy = NSMergePolicy.error
          try await context.perform {
            for turn in 0..<25 {
              let book = context.object(with: ids[(writer + turn) % ids.count])
              while true {
                book.setValue((book.value(forKey: "pages") as? Int ?? 0) + 1, forKey: "pages")
                let new = context.make("Tag", ["label": "\(writer)-\(turn)", "books": Set([book])])
                do {
                  try context.save()
                  break
                } catch let error as NSError where error.code == 133020 {
                  context.delete(new)
                  context.rollback()
                  context.refresh(book, mergeChanges: false)
                }
              }
            }
          }
        }
      }
      for _ in 0..<3 {
        group.addTask {
          let context = store.context()
          for _ in 0..<20 {
            try await context.perform {
              context.reset()
              let books = try context.all("Book")
              #expect(books.count == 20)
              // One transaction counted the book up and added a tag to it.
              for book in books where !book.members("tags").isEmpty {
                #expect(book.value(forKey: "pages") as? Int ?? 0 > 0 || book.members("tags").count > 0)
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try #expect(
      store.sql("SELECT sum(ZPAGES), (SELECT count(*) FROM ZTAG), (SELECT count(*) FROM Z_2TAGS) FROM ZBOOK")
        == [["100", "100", "100"]])
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func followersOfManySavesEndWithTheLastValues() async throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      (0..<5).map { context.make("Book", ["title": "b\($0)", "pages": 0]) }
    }.map(\.objectID)
    let follower = store.context()
    await follower.perform {
      follower.automaticallyMergesChangesFromParent = true
      follower.retainsRegisteredObjects = true
      for id in ids { _ = follower.object(with: id).text("title") }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in ids {
        group.addTask {
          let context = store.context()
          for turn in 1...20 {
            try await context.perform {
              context.object(with: id).setValue(turn, forKey: "pages")
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    await follower.perform {
      for id in ids { #expect(follower.object(with: id).value(forKey: "pages") as? Int == 20) }
      #expect(!follower.hasChanges)
    }
  }

  @Test func keysOfParallelInsertsAreAllDifferent() async throws {
    let store = try TemporaryStore()
    let stacks = try [store.coordinator, store.otherCoordinator()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<6 {
        group.addTask {
          let context = stacks[writer % 2].context()
          try await context.perform {
            for turn in 0..<10 {
              let books = (0..<5).map { context.make("Book", ["title": "\(writer)-\(turn)-\($0)"]) }
              if turn % 2 == 0 { try context.obtainPermanentIDs(for: books) }
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try #expect(store.sql("SELECT count(*), count(DISTINCT ZTITLE) FROM ZBOOK") == [["300", "300"]])
  }
}
