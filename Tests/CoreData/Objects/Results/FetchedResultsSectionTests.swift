import CoreData
import Testing

/// The sections of a controller, and how they change.
@Suite struct FetchedResultsSectionTests {
  @Test func withoutAKeyPathThereIsOneSectionAlsoWithoutResults() throws {
    try BookList.follow([]) { _, controller, _ in
      #expect(controller.sections?.count == 1 && controller.sections?[0].numberOfObjects == 0)
      #expect(controller.sections?[0].name == "")
    }
    try BookList.follow([], section: "pages", sort: "pages") { _, controller, _ in
      #expect(controller.sections?.isEmpty == true)
    }
  }

  @Test func aSectionKeyPathThatLeadsNowhereIsAnError() throws {
    try TemporaryStore().read { context in
      for path in ["genre", "author.age", "author.passport.colour"] {
        let controller = NSFetchedResultsController(
          fetchRequest: BookList.request(), managedObjectContext: context, sectionNameKeyPath: path, cacheName: nil)
        #expect {
          try controller.performFetch()
        } throws: { error in
          let error = error as NSError
          return error.code == 134060 && error.localizedDescription.contains("\"\(path)\"")
        }
      }
      // A property of a subentity, an element of the object, and an operator.
      for path in ["artist", "objectID", "author.name.length", "tags.@count"] {
        let controller = NSFetchedResultsController(
          fetchRequest: BookList.request(), managedObjectContext: context, sectionNameKeyPath: path, cacheName: nil)
        #expect(throws: Never.self) { try controller.performFetch() }
      }
    }
  }

  @Test func sectionsAreEqualByNameAndObjects() throws {
    try BookList.follow(["a", "bb"], section: "pages", sort: "pages") { context, controller, _ in
      let before = try #require(controller.sections?.map { $0 as? NSObject })
      try controller.performFetch()
      #expect(controller.sections?.map { $0 as? NSObject } == before)
      #expect(before[0] != nil && before[0] != before[1])
    }
  }

  @Test func aDeletedSectionIsToldAfterItsObjects() throws {
    try BookList.follow(["a", "bb", "cc"], section: "pages", sort: "pages") { context, controller, mirror in
      let last = try #require(controller.sections?.last)
      for book in last.objects as? [NSManagedObject] ?? [] { context.delete(book) }
      context.processPendingChanges()
      #expect(mirror.calls.first == "will" && mirror.calls.suffix(2) == ["section", "did"] && mirror.calls.count == 5)
      #expect(mirror.sectionChanges.map(\.index) == [1])
    }
  }

  @Test func anObjectThatGoesIntoAnotherSectionMovesAndSectionsComeAndGo() throws {
    try BookList.follow(["a", "bb", "cc"], section: "pages", sort: "pages") { context, controller, mirror in
      #expect(mirror.names == ["1", "2"])
      let a = controller.object(at: [0, 0])
      a.setValue(3, forKey: "pages")
      context.processPendingChanges()
      #expect(mirror.calls == ["will", "section", "move", "section", "did"])
      #expect(mirror.sectionChanges.map { "\($0.type) \($0.name) \($0.index)" } == ["insert 3 1", "delete 1 0"])
      #expect(mirror.rowChanges[0].from == [0, 0] && mirror.rowChanges[0].to == [1, 0])
      #expect(mirror.names == ["2", "3"] && mirror.texts == [["bb", "cc"], ["a"]])
    }
  }

  @Test func aSectionThatIsEmptiedAndFilledAtOnceStays() throws {
    try BookList.follow(["a", "bb"], section: "pages", sort: "pages") { context, controller, mirror in
      context.delete(controller.object(at: [0, 0]))
      context.make("Book", ["title": "z", "pages": 1])
      context.processPendingChanges()
      #expect(mirror.sectionChanges.isEmpty && mirror.texts == [["z"], ["bb"]])
    }
  }

  @Test func sectionsMayBeNamedByTransientValuesAndRelatedOnes() throws {
    let model = LibraryModel.makeWithClasses()
    let store = try TemporaryStore(model)
    try store.save { context in
      for name in ["Ada", "Bob"] {
        let author = context.make("Author")
        author.setValue(name, forKey: "name")
        for title in ["1 \(name)", "2 \(name)"] { context.make("Book", ["title": title, "author": author]) }
      }
    }
    try store.read { context in
      // The class sets its transient note when it is fetched: all objects are in one section.
      for (path, sort, names) in [
        ("note", "title", ["set when fetched"]), ("author.name", "author.name", ["Ada", "Bob"]),
      ] {
        let controller = NSFetchedResultsController(
          fetchRequest: BookList.request(sort: sort), managedObjectContext: context, sectionNameKeyPath: path,
          cacheName: nil)
        try controller.performFetch()
        #expect(controller.sections?.map(\.name) == names)
      }
    }
  }

  @Test func aChangeOfARelatedNameMovesTheRowsBehindIt() throws {
    let store = try TemporaryStore()
    try store.save { context in
      for name in ["Ada", "Bob"] {
        let author = context.make("Author", ["name": name])
        context.make("Book", ["title": "by \(name)", "author": author])
      }
    }
    try store.read { context in
      let controller = NSFetchedResultsController(
        fetchRequest: BookList.request(sort: "author.name"), managedObjectContext: context,
        sectionNameKeyPath: "author.name",
        cacheName: nil)
      try controller.performFetch()
      let mirror = TableMirror(controller) { $0.text("title") ?? "" }
      controller.delegate = mirror
      try context.all("Author", where: "name == 'Ada'")[0].setValue("Zoe", forKey: "name")
      context.processPendingChanges()
      #expect(mirror.names == ["Bob", "Zoe"] && mirror.complaints.isEmpty)
      #expect(mirror.rowChanges.map(\.type) == [.move])
    }
  }

  @Test func rowsOutOfTheOrderOfTheirSectionsAreAnError() throws {
    let store = try TemporaryStore()
    try store.save { context in
      for (title, pages) in [("a", 1), ("b", 2), ("c", 1)] { context.make("Book", ["title": title, "pages": pages]) }
    }
    try store.read { context in
      let controller = NSFetchedResultsController(
        fetchRequest: BookList.request(), managedObjectContext: context, sectionNameKeyPath: "pages", cacheName: nil)
      let error = try #require(throws: NSError.self) { try controller.performFetch() }
      #expect(error.code == 134060 && error.localizedDescription.contains("index 2"))
    }
  }

  @Test func theSectionIndexHasEachTitleOnceAndTheDelegateMayNameThem() throws {
    final class Titles: NSObject, NSFetchedResultsControllerDelegate {
      func controller(
        _ controller: NSFetchedResultsController<NSFetchRequestResult>,
        sectionIndexTitleForSectionName sectionName: String
      ) -> String? { "<\(sectionName)>" }
    }
    try BookList.follow(["apple", "avocado", "banana"], section: "title") { _, controller, _ in
      controller.delegate = nil
      #expect(controller.sectionIndexTitles == ["A", "B"])
      #expect(controller.section(forSectionIndexTitle: "B", at: 1) == 2)
      #expect(controller.sections?[1].indexTitle == "A" && controller.sectionIndexTitle(forSectionName: "über") == "Ü")
      let titles = Titles()
      controller.delegate = titles
      #expect(controller.sectionIndexTitles == ["<apple>", "<avocado>", "<banana>"])
    }
  }
}
