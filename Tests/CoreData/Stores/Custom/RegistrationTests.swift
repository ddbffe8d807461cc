import Testing

@testable import CoreData

/// The IDs that an incremental store is told when contexts get objects and let go of them.
@Suite struct RegistrationTests {
  private let stack: StoreStack
  private let shelf: ShelfStore

  init() throws {
    stack = try StoreStack(.shelf)
    shelf = try #require(stack.store as? ShelfStore)
  }

  private func counts(_ ids: [NSManagedObjectID]) -> [Int] { ids.map { shelf.registrations.counts[$0] ?? 0 } }

  /// Saves an author with two books in a context of its own, which is gone afterwards.
  private func makeLibrary() throws -> (author: NSManagedObjectID, books: [NSManagedObjectID]) {
    let ids = try stack.perform { context in
      let author = context.make("Author", ["name": "Ada"])
      let books = ["one", "two"].map { context.make("Book", ["title": $0, "author": author]) }
      try context.save()
      return (author.objectID, books.map(\.objectID))
    }
    #expect(shelf.registrations.counts.isEmpty)
    return ids
  }

  @Test func aStoreHearsOfNewObjectsOnceTheyHavePermanentIDs() throws {
    try stack.perform { context in
      let tags = ["a", "b", "c"].map { context.make("Tag", ["label": $0]) }
      #expect(shelf.registrations.counts.isEmpty)
      try context.obtainPermanentIDs(for: [tags[0]])
      #expect(shelf.registrations.counts == [tags[0].objectID: 1])
      try context.save()
      #expect(counts(tags.map(\.objectID)) == [1, 1, 1] && shelf.registrations.counts.count == 3)
      // The store is told of the objects of one save together.
      #expect(shelf.registrations.calls.map(\.count) == [1, 2])
    }
    #expect(shelf.registrations.counts.isEmpty)
  }

  @Test func aStoreHearsOfFetchedObjectsAndOfFaults() throws {
    let (author, books) = try makeLibrary()
    let calls = shelf.registrations.calls.count
    let context = stack.context()
    try context.performAndWait {
      let fetchedBooks = try context.all("Book", sort: "title")
      #expect(counts(books) == [1, 1] && counts([author]) == [0])
      #expect(shelf.registrations.calls.dropFirst(calls).map(Set.init) == [Set(books)])
      // A fault behind a relationship, a second fetch, and objects that the context has already.
      #expect(fetchedBooks[0].object("author")?.objectID == author && counts([author]) == [1])
      let again = try context.all("Book")
      #expect(again.count == 2 && context.object(with: books[0]).objectID == books[0])
      #expect(counts(books) == [1, 1])
      // Members of a to-many relationship, in another context.
      let other = stack.context()
      other.performAndWait {
        let members = other.object(with: author).members("books")
        #expect(members.count == 2 && counts(books + [author]) == [2, 2, 2])
      }
      withExtendedLifetime(fetchedBooks) {}
    }
  }

  @Test func aChildContextCountsLikeAnyOther() throws {
    let (_, books) = try makeLibrary()
    let parent = stack.context()
    let child = parent.child()
    try child.performAndWait {
      let fetchedBooks = try child.all("Book")
      #expect(fetchedBooks.count == 2 && counts(books) == [2, 2])
      let tag = child.make("Tag", ["label": "a"])
      try child.save()
      try parent.performAndWait { try parent.save() }
      #expect(counts([tag.objectID]) == [2])
      child.reset()
      #expect(counts(books + [tag.objectID]) == [1, 1, 1])
    }
  }

  // MARK: Leaving

  @Test func aStoreHearsOfObjectsThatNobodyHoldsAnyMore() throws {
    let (author, books) = try makeLibrary()
    let context = stack.context()
    try context.performAndWait {
      var fetchedBooks = try context.all("Book", sort: "title")
      fetchedBooks[1].setValue("changed", forKey: "title")
      // An object with changes stays.
      fetchedBooks = []
      #expect(context.registeredObjects.count == 1 && counts(books) == [0, 1])
      // One that is looked for is told at once.
      _ = context.object(with: author)
      #expect(counts([author]) == [1])
      #expect(context.registeredObject(for: author) == nil && counts([author]) == [0])
    }
  }

  @Test func aStoreHearsOfResetsDeletionsAndTheEndOfContexts() throws {
    let (author, books) = try makeLibrary()
    var context: NSManagedObjectContext? = stack.context()
    try context?.performAndWait {
      guard let context else { return }
      var held = try context.all("Book") + context.all("Author")
      context.reset()
      #expect(shelf.registrations.counts.isEmpty)
      held = try context.all("Book", sort: "title") + context.all("Author")
      context.delete(held[0])
      #expect(counts(books) == [1, 1])
      try context.save()
      #expect(counts(books) == [0, 1] && counts([author]) == [1])
      withExtendedLifetime(held) {}
    }
    context = nil
    #expect(shelf.registrations.counts.isEmpty)
  }

  @Test func anUndoneDeletionAndAMergedOneAreCountedOnce() throws {
    let (_, books) = try makeLibrary()
    let (context, other) = (stack.context(), stack.context())
    try context.performAndWait {
      context.undoManager = UndoManager()
      let fetchedBooks = try context.all("Book", sort: "title")
      context.delete(fetchedBooks[0])
      try context.save()
      #expect(counts(books) == [0, 1])
      context.undoManager?.undo()
      #expect(counts(books) == [1, 1])
      try context.save()
      #expect(counts(books) == [1, 1])
      withExtendedLifetime(fetchedBooks) {}
    }
    try other.performAndWait {
      let fetchedBooks = try other.all("Book", sort: "title")
      #expect(counts(books) == [2, 2])
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSDeletedObjectIDsKey: [books[1]]], into: [other])
      // It leaves with the next save.
      #expect(counts(books) == [2, 2])
      try other.save()
      #expect(counts(books) == [2, 1])
      withExtendedLifetime(fetchedBooks) {}
    }
  }

  @Test(arguments: StoreKind.allCases)
  func onlyIncrementalStoresAreTold(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    #expect(subject.store.storedEntities.isFollowed == (kind == .shelf))
    try #expect(subject.storedEntity("Tag").isFollowed == (kind == .shelf))
  }
}
