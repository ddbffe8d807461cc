import CoreData
import Testing

@Suite struct FetchedResultsControllerTests {
  @Test func resultsAreThereAfterTheFetchAndNotBefore() throws {
    let store = try TemporaryStore()
    try store.save { context in for title in ["b", "a"] { context.make("Book", ["title": title]) } }
    try store.read { context in
      let controller = NSFetchedResultsController(
        fetchRequest: BookList.request(), managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      #expect(controller.fetchedObjects == nil && controller.sections == nil)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.map { $0.text("title") } == ["a", "b"])
      #expect(controller.object(at: IndexPath(row: 1, section: 0)).text("title") == "b")
      let first = try #require(controller.fetchedObjects?.first)
      #expect(controller.indexPath(forObject: first) == IndexPath(item: 0, section: 0))
      #expect(controller.indexPath(forObject: context.make("Book", ["title": "c"])) == nil)
      #expect(controller.managedObjectContext === context && controller.fetchRequest.entityName == "Book")
    }
  }

  @Test func aControllerWithoutSortDescriptorsTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try TemporaryStore().context()
      _ = NSFetchedResultsController(
        fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Book"), managedObjectContext: context,
        sectionNameKeyPath: nil, cacheName: nil)
    }
    expectSentence(result, "sort descriptors", "Book")
  }

  @Test func anObjectThatIsNotThereTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = store.context()
      try context.performAndWait {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        let controller = NSFetchedResultsController(
          fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        try controller.performFetch()
        _ = controller.object(at: [0, 3]).objectID
      }
    }
    expectSentence(result, "no object at 0-3")
  }

  @Test func anEntityThatIsNotThereIsAnError() throws {
    let context = try TemporaryStore().context()
    context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Nothing")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      #expect(throws: NSError.self) { try controller.performFetch() }
      #expect(controller.fetchedObjects == nil)
    }
  }

  @Test func neitherTheFirstFetchNorAnotherTellsTheDelegate() throws {
    try BookList.follow(["a"]) { context, controller, mirror in
      context.make("Book", ["title": "b"])
      try controller.performFetch()
      #expect(mirror.calls.isEmpty && controller.fetchedObjects?.count == 2)
    }
  }

  @Test func withoutADelegateNothingIsTracked() throws {
    try BookList.follow(["a"]) { context, controller, _ in
      controller.delegate = nil
      context.make("Book", ["title": "b"])
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.count == 1)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 2)
    }
  }

  @Test func theDelegateIsNotKeptAlive() throws {
    try BookList.follow(["a"]) { context, controller, _ in
      do { controller.delegate = TableMirror(controller) { _ in "" } }
      #expect(controller.delegate == nil)
      context.make("Book", ["title": "b"])
      context.processPendingChanges()
    }
  }

  @Test func eachChangeComesWithItsPaths() throws {
    try BookList.follow(["b", "d", "f", "x"]) { context, controller, mirror in
      let objects = try #require(controller.fetchedObjects)
      context.delete(objects[0])
      objects[1].setValue("e", forKey: "title")
      objects[3].setValue("a", forKey: "title")
      let new = context.make("Book", ["title": "c"])
      context.processPendingChanges()
      #expect(mirror.calls == ["will", "delete", "insert", "move", "update", "did"])
      let byType = Dictionary(uniqueKeysWithValues: mirror.rowChanges.map { ($0.type, $0) })
      #expect(byType[.delete]?.object == objects[0] && byType[.delete]?.from == [0, 0] && byType[.delete]?.to == nil)
      #expect(byType[.insert]?.object == new && byType[.insert]?.from == nil && byType[.insert]?.to == [0, 1])
      #expect(byType[.move]?.object == objects[3] && byType[.move]?.from == [0, 3] && byType[.move]?.to == [0, 0])
      #expect(
        byType[.update]?.object == objects[1] && byType[.update]?.from == [0, 1] && byType[.update]?.to == [0, 2])
      #expect(mirror.texts == [["a", "c", "e", "f"]])
    }
  }

  @Test func oneObjectThatMovesMovesAlone() throws {
    try BookList.follow(["a", "b", "c", "d", "e"]) { context, controller, mirror in
      let objects = try #require(controller.fetchedObjects)
      // All objects change, but only one moves among the others.
      for object in objects { object.setValue(7, forKey: "pages") }
      objects[0].setValue("dd", forKey: "title")
      context.processPendingChanges()
      #expect(mirror.rowChanges.filter { $0.type == .move }.map(\.object) == [objects[0]])
      #expect(mirror.rowChanges.filter { $0.type == .update }.count == 4)
    }
  }

  @Test func whatDoesNotConcernTheResultsIsNotTold() throws {
    try BookList.follow(["a", "b", "looong"], "pages < 3") { context, controller, mirror in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Tag", ["label": "new"])
      let long = try context.all("Book", where: "pages > 3")[0]
      long.setValue("longer", forKey: "title")
      long.setValue(author, forKey: "author")
      context.make("Book", ["title": "too long", "pages": 9])
      context.processPendingChanges()
      try context.save()
      context.delete(long)
      context.processPendingChanges()
      #expect(mirror.calls.isEmpty)
      // An object that begins to match is inserted, one that no longer matches is deleted.
      let first = controller.object(at: [0, 0])
      first.setValue(5, forKey: "pages")
      try context.all("Book", where: "title == 'too long'")[0].setValue(1, forKey: "pages")
      context.processPendingChanges()
      #expect(mirror.calls == ["will", "delete", "insert", "did"])
    }
  }

  @Test func anObjectThatComesAndGoesInOneEventIsNotTold() throws {
    try BookList.follow(["a"]) { context, _, mirror in
      context.delete(context.make("Book", ["title": "b"]))
      context.processPendingChanges()
      #expect(mirror.calls.isEmpty)
    }
  }

  @Test func savingTellsNothingNew() throws {
    try BookList.follow(["a"]) { context, controller, mirror in
      let new = context.make("Book", ["title": "b"])
      context.processPendingChanges()
      mirror.clear()
      try context.save()
      #expect(mirror.calls.isEmpty && controller.indexPath(forObject: new) == [0, 1])
    }
  }

  @Test func aNewObjectThatIsDeletedAfterTheFetchLeavesTheResults() throws {
    try BookList.follow(["a"]) { context, controller, _ in
      let new = context.make("Book", ["title": "b"])
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 2)
      let mirror = TableMirror(controller) { $0.text("title") ?? "" }
      controller.delegate = mirror
      context.delete(new)
      context.processPendingChanges()
      #expect(mirror.calls == ["will", "delete", "did"])
      #expect(controller.fetchedObjects?.map { $0.text("title") } == ["a"])
    }
  }

  @Test func rollingBackIsFollowedAndResettingIsNot() throws {
    try BookList.follow(["a", "b"]) { context, controller, mirror in
      context.make("Book", ["title": "c"])
      context.delete(controller.object(at: [0, 0]))
      context.processPendingChanges()
      #expect(mirror.texts == [["b", "c"]])
      context.rollback()
      #expect(mirror.texts == [["a", "b"]])
      context.make("Book", ["title": "c"])
      context.processPendingChanges()
      mirror.clear()
      context.reset()
      #expect(mirror.calls.isEmpty && controller.object(at: [0, 0]).managedObjectContext == nil)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.map { $0.text("title") } == ["a", "b"])
    }
  }

  @Test func equalObjectsStandInTheOrderInWhichTheyCame() throws {
    try BookList.follow(["x"], sort: "pages") { context, controller, _ in
      let more = (0..<20).map { _ in context.make("Book", ["title": "y", "pages": 1]) }
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.dropFirst() == more[...])
    }
  }

  @Test func delegatesGetTheControllerItselfUnderAnotherType() throws {
    final class Delegate: NSObject, NSFetchedResultsControllerDelegate {
      var seen: [String] = []
      weak var expectedController: AnyObject?
      func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
        let book = controller.object(at: [0, 0]) as? NSManagedObject
        seen.append("\(controller.fetchedObjects?.count ?? 0) \(book?.text("title") ?? "")")
        seen.append("\(controller.fetchRequest.entityName ?? "") \(controller.sections?.count ?? 0)")
        seen.append("\(book.flatMap { controller.indexPath(forObject: $0) } ?? [])")
        // A cast to the other type is no test: the optimiser knows that the types differ, and makes it false.
        seen.append("\(controller === expectedController)")
      }
    }
    try BookList.follow(["b"]) { context, controller, _ in
      let delegate = Delegate()
      delegate.expectedController = controller
      controller.delegate = delegate
      context.make("Book", ["title": "a"])
      context.processPendingChanges()
      #expect(delegate.seen == ["2 a", "Book 1", "[0, 0]", "true"])
    }
  }

  @Test func aDelegateThatTakesDifferencesGetsNothingElse() throws {
    final class Delegate: NSObject, NSFetchedResultsControllerDelegate {
      var shown: [NSManagedObjectID] = []
      var calls: [String] = []
      func controller(
        _ controller: NSFetchedResultsController<NSFetchRequestResult>,
        didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
      ) {
        calls.append("difference")
        shown = shown.applying(diff) ?? []
      }
      func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
        calls.append("will")
      }
    }
    try BookList.follow(["b", "d", "f"]) { context, controller, _ in
      let delegate = Delegate()
      delegate.shown = controller.fetchedObjects?.map(\.objectID) ?? []
      controller.delegate = delegate
      for round in 1...2 {
        let objects = try #require(controller.fetchedObjects)
        objects[0].setValue("z\(round)", forKey: "title")
        context.delete(objects[1])
        context.make("Book", ["title": "c\(round)"])
        context.processPendingChanges()
        #expect(delegate.shown == controller.fetchedObjects?.map(\.objectID))
      }
      #expect(delegate.calls == ["difference", "difference"])
    }
  }

  @Test func dictionariesAndIDsCanBeListedAndAreNotTracked() throws {
    try BookList.follow(["b", "a"]) { context, other, mirror in
      other.delegate = nil
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = ["title"]
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "title", cacheName: nil)
      controller.delegate = mirror
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == ["a", "b"])
      #expect(controller.object(at: [1, 0])["title"] as? String == "b")
      context.make("Book", ["title": "c"])
      context.processPendingChanges()
      #expect(mirror.calls.isEmpty && controller.fetchedObjects?.count == 2)
    }
  }
}
