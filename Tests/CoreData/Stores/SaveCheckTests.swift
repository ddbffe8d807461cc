import TestFiles
import Testing

@testable import CoreData

/// What a save checks in its transaction.
@Suite struct SaveCheckTests {
  private struct BookFoundError: Error {}

  private func count(_ entity: String, _ coordinator: NSPersistentStoreCoordinator) throws -> Int {
    let context = coordinator.context()
    return try context.performAndWait { try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) }
  }

  /// The save knows what another program has saved since the check was set:
  ///
  ///     context                          another coordinator
  ///     inserts a tag, checks for books
  ///                                      saves a book
  ///     saves: the check finds the book
  @Test(arguments: StoreKind.allCases.filter(\.noticesOthers))
  func aSaveFailsWithTheErrorOfItsCheckAndWritesNothing(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let other = try subject.openedAgain()
    let context = subject.coordinator.context()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "mine"])
      context.check(inNextSave: {
        if try count("Book", subject.coordinator) > 0 { throw BookFoundError() }
      })
      _ = try other.insert("Book", [["title": "theirs"]])
      // It holds until a save succeeds, or the changes are given up.
      for _ in 0..<2 { #expect(throws: BookFoundError.self) { try context.save() } }
      #expect(tag.isInserted)
      #expect(try count("Tag", other.coordinator) == 0)
      context.rollback()
      _ = context.make("Tag", ["label": "mine"])
      try context.save()
      #expect(try count("Tag", other.coordinator) == 1)
    }
  }

  @Test(arguments: StoreKind.allCases.filter(\.noticesOthers))
  func aCheckIsForOneSave(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let context = subject.coordinator.context()
    try context.performAndWait {
      var checks = 0
      context.check(inNextSave: { checks += 1 })
      for _ in 0..<2 {
        _ = context.make("Tag")
        try context.save()
      }
      #expect(checks == 1)
    }
  }
}
