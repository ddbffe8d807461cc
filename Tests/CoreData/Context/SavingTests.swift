import CoreData
import Testing

@Suite struct SavingTests {
  @Test func everyAttributeTypeComesBackAsItWasSaved() throws {
    let store = try TemporaryStore()
    let uuid = UUID()
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
    let id: NSManagedObjectID = try store.context().performAndWaitWith { context in
      let author = context.make("Author", ["name": "Ada", "born": date])
      let book = context.make(
        "Book",
        [
          "title": "Notes, längere", "pages": 42, "price": NSDecimalNumber(string: "12.35"), "rating": 4.5,
          "weight": Float(0.1), "isRead": true, "cover": Data([0, 1, 2, 255]), "uuid": uuid,
          "link": URL(string: "https://example.org/a?b=c")!, "extra": NSArray(array: ["x", "y"]), "note": "transient",
          "author": author,
        ])
      try context.save()
      #expect(!book.objectID.isTemporaryID)
      return book.objectID
    }
    let other = try store.otherCoordinator()
    let context = other.context()
    try context.performAndWait {
      let bookID = try #require(other.managedObjectID(forURIRepresentation: id.uriRepresentation()))
      let book = try context.existingObject(with: bookID)
      #expect(book.value(forKey: "title") as? String == "Notes, längere")
      #expect(book.value(forKey: "pages") as? Int == 42)
      #expect(book.value(forKey: "price") as? NSDecimalNumber == NSDecimalNumber(string: "12.35"))
      #expect(book.value(forKey: "rating") as? Double == 4.5)
      #expect(book.value(forKey: "weight") as? Float == 0.1)
      #expect(book.value(forKey: "isRead") as? Bool == true)
      #expect(book.value(forKey: "cover") as? Data == Data([0, 1, 2, 255]))
      #expect(book.value(forKey: "uuid") as? UUID == uuid)
      #expect(book.value(forKey: "link") as? URL == URL(string: "https://example.org/a?b=c"))
      #expect((book.value(forKey: "extra") as? NSArray) == NSArray(array: ["x", "y"]))
      #expect(book.value(forKey: "note") == nil)
      let author = try #require(book.value(forKey: "author") as? NSManagedObject)
      #expect(author.isFault)
      #expect(author.value(forKey: "born") as? Date == date)
      #expect((author.value(forKey: "books") as? Set<NSManagedObject>) == [book])
    }
  }

  /// "é" is one scalar or two, which Swift calls equal: a program that puts its texts into one form saves them.
  @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType]) func aTextIsSavedInAnotherForm(_ type: String) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let book = context.make("Book", ["title": "Caf\u{65}\u{301}"])
      try context.save()
      book.setValue("Caf\u{e9}", forKey: "title")
      #expect(Array(book.changedValues().keys) == ["title"] && book.hasPersistentChangedValues)
      try context.save()
      context.refresh(book, mergeChanges: false)
      #expect((book.value(forKey: "title") as? String)?.unicodeScalars.count == 4)
      #expect(try context.all("Book", where: "title == 'Caf\u{e9}'") == [book])
    }
  }

  @Test func aSecondSaveOfAnOldVersionIsAConflictAndChangesNothing() throws {
    let store = try TemporaryStore()
    let first = store.context()
    let second = store.context()
    let id: NSManagedObjectID = try first.performAndWait {
      let book = first.make("Book", ["title": "One"])
      try first.save()
      return book.objectID
    }
    // first  | second
    // -------+---------
    //        | reads
    // saves  |
    //        | saves: conflict
    let theirs = try second.performAndWait { () -> NSManagedObject in
      let book = try second.existingObject(with: id)
      book.setValue("Two of second", forKey: "title")
      return book
    }
    try first.performAndWait {
      try first.existingObject(with: id).setValue("Two of first", forKey: "title")
      try first.save()
    }
    second.performAndWait {
      #expect {
        try second.save()
      } throws: { error in
        let error = error as NSError
        let conflict = (error.userInfo["conflictList"] as? [NSMergeConflict])?.first
        return error.domain == NSCocoaErrorDomain && error.code == 133020
          && conflict?.objectSnapshot?["title"] as? String == "One" && conflict?.oldVersionNumber == 1
          && conflict?.cachedSnapshot?["title"] as? String == "Two of first" && conflict?.newVersionNumber == 2
          // The coordinator's cache equals the file.
          && conflict?.persistedSnapshot == nil
      }
      #expect(second.hasChanges)
      #expect(theirs.value(forKey: "title") as? String == "Two of second")
      second.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      #expect(throws: Never.self) { try second.save() }
    }
    try first.performAndWait {
      first.refreshAllObjects()
      let title = try first.existingObject(with: id).value(forKey: "title") as? String
      #expect(title == "Two of second")
    }
  }
}

/// Conflicts in stores without a file.
@Suite struct MemoryConflictTests {
  @Test func aConflictOfTwoContextsHasTheCoordinatorsCurrentRow() throws {
    let first = try libraryContext(NSInMemoryStoreType)
    let second = NSManagedObjectContext(.privateQueue)
    second.persistentStoreCoordinator = first.persistentStoreCoordinator
    let id = try first.performAndWait {
      let book = first.make("Book", ["title": "One"])
      try first.save()
      return book.objectID
    }
    second.performAndWait { second.object(with: id).setValue("theirs", forKey: "title") }
    try first.performAndWait {
      first.object(with: id).setValue("mine", forKey: "title")
      try first.save()
    }
    try second.performAndWait {
      let error = #expect(throws: NSError.self) { try second.save() }
      let conflict = try #require((error?.userInfo["conflictList"] as? [NSMergeConflict])?.first)
      #expect(conflict.objectSnapshot?["title"] as? String == "One")
      #expect(conflict.cachedSnapshot?["title"] as? String == "mine" && conflict.persistedSnapshot == nil)
    }
  }
}
