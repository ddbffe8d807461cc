import CoreData
import Testing

/// Conflicts between processes. The body of an exit test runs in a process of its own, which has ended when this one
/// continues.
@Suite struct ProcessConflictTests {
  /// The other process: opens the file, and saves a change of the book and an author of the same name.
  static func interfere(_ path: String, deleting: Bool) throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = URL(fileURLWithPath: path)
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let context = coordinator.context()
    try context.performAndWait {
      let book = try context.all("Book")[0]
      if deleting {
        context.delete(book)
      } else {
        book.setValue("theirs", forKey: "title")
        book.setValue(7, forKey: "pages")
      }
      context.make("Author", ["name": "A", "born": Date(timeIntervalSinceReferenceDate: 1)])
      try context.save()
    }
  }

  private func library() throws -> (TemporaryStore, NSManagedObjectContext, NSManagedObjectID) {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    let store = try TemporaryStore(model)
    let id = try store.save { $0.make("Book", ["title": "One", "pages": 1]) }.objectID
    return (store, store.context(), id)
  }

  @Test(arguments: [
    (NSMergePolicyType.errorMergePolicyType, ["theirs", "7", nil, "2"], [["A", "1"]]),
    (.mergeByPropertyStoreTrumpMergePolicyType, ["theirs", "7", "4.5", "3"], [["A", "1"]]),
    (.mergeByPropertyObjectTrumpMergePolicyType, ["mine", "7", "4.5", "3"], [["A", "2"]]),
    (.overwriteMergePolicyType, ["mine", "1", "4.5", "3"], [["A", "2"]]),
    (.rollbackMergePolicyType, ["theirs", "7", nil, "2"], [["A", "1"]]),
  ])
  func eachPolicyHoldsAgainstAnotherProcess(
    _ policy: NSMergePolicyType, _ book: [String?], _ authors: [[String?]]
  ) async throws {
    let (store, context, id) = try library()
    context.mergePolicy = NSMergePolicy(merge: policy)
    // this process                        | another process
    // ------------------------------------+------------------------------------
    // changes the book, makes author "A"  |
    //                                     | changes the book, makes author "A"
    //                                     | saves, ends
    // saves                               |
    try context.performAndWait {
      let book = context.object(with: id)
      book.setValue("mine", forKey: "title")
      book.setValue(4.5, forKey: "rating")
      context.make("Author", ["name": "A", "born": Date(timeIntervalSinceReferenceDate: 2)])
      _ = try context.all("Author")
    }
    await #expect(processExitsWith: .success) { [path = store.url.path as String] in
      try ProcessConflictTests.interfere(path, deleting: false)
    }
    try context.performAndWait {
      if policy == .errorMergePolicyType {
        #expect {
          try context.save()
        } throws: { error in
          let conflict = ((error as NSError).userInfo["conflictList"] as? [NSMergeConflict])?.first
          return (error as NSError).code == 133020 && conflict?.cachedSnapshot?["title"] as? String == "One"
            && conflict?.persistedSnapshot?["title"] as? String == "theirs"
        }
      } else {
        try context.save()
        #expect(!context.hasChanges)
      }
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES, ZRATING, Z_OPT FROM ZBOOK") == [book])
    try #expect(store.sql("SELECT ZNAME, ZBORN FROM ZAUTHOR") == authors)
  }

  @Test(arguments: [
    (NSMergePolicyType.errorMergePolicyType, nil), (.mergeByPropertyStoreTrumpMergePolicyType, 0),
    (.mergeByPropertyObjectTrumpMergePolicyType, nil), (.overwriteMergePolicyType, 1), (.rollbackMergePolicyType, 0),
  ])
  func aRowThatAnotherProcessDeleted(_ policy: NSMergePolicyType, _ booksLeft: Int?) async throws {
    let (store, context, id) = try library()
    context.mergePolicy = NSMergePolicy(merge: policy)
    context.performAndWait { context.object(with: id).setValue("mine", forKey: "title") }
    await #expect(processExitsWith: .success) { [path = store.url.path as String] in
      try ProcessConflictTests.interfere(path, deleting: true)
    }
    try context.performAndWait {
      guard let booksLeft else {
        #expect {
          try context.save()
        } throws: { error in
          let conflict = ((error as NSError).userInfo["conflictList"] as? [NSMergeConflict])?.first
          return (error as NSError).code == 133020 && conflict?.newVersionNumber == 0
        }
        return
      }
      try context.save()
      #expect(!context.hasChanges)
      let expected: [[String?]] = booksLeft == 0 ? [] : [["1", "mine", "1"]]
      try #expect(store.sql("SELECT Z_PK, ZTITLE, ZPAGES FROM ZBOOK") == expected)
    }
  }
}
