import CoreData
import Testing

/// A book with properties for key paths, as generated classes have them.
final class ObservedBook: NSManagedObject {
  var title: String? {
    get { value(forKey: "title") as? String }
    set { setValue(newValue, forKey: "title") }
  }
  var pages: Int {
    get { value(forKey: "pages") as? Int ?? 0 }
    set { setValue(newValue, forKey: "pages") }
  }
  var author: NSManagedObject? {
    get { value(forKey: "author") as? NSManagedObject }
    set { setValue(newValue, forKey: "author") }
  }
  var tags: Set<NSManagedObject> {
    get { members("tags") }
    set { setValue(newValue, forKey: "tags") }
  }
  /// A handwritten accessor around the primitive value.
  var ownTitle: String? {
    get { title }
    set {
      willChangeValue(forKey: "title")
      setPrimitiveValue(newValue, forKey: "title")
      didChangeValue(forKey: "title")
    }
  }

  static let names: Void = KeyPathNames.register([
    \ObservedBook.title: "title", \ObservedBook.pages: "pages", \ObservedBook.author: "author",
    \ObservedBook.tags: "tags",
  ])
}

@Suite struct KeyValueObservingTests {
  private func withBook(_ body: (TemporaryStore, NSManagedObjectContext, ObservedBook) throws -> Void) throws {
    _ = ObservedBook.names
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(ObservedBook.self)
    let store = try TemporaryStore(model)
    try store.save { $0.make("Book", ["title": "One", "pages": 7, "author": $0.make("Author", ["name": "Ada"])]) }
    try store.read { context in try body(store, context, try #require(context.all("Book").first as? ObservedBook)) }
  }

  @Test func anObservationTellsOldAndNewValuesWhoeverChangesThem() throws {
    try withBook { _, context, book in
      var changes: [String] = []
      let observation = book.observe(\.title, options: [.old, .new]) { object, change in
        #expect(object === book && change.kind == .setting && !change.isPrior)
        changes.append("\(change.oldValue.flatMap { $0 } ?? "nil") to \(change.newValue.flatMap { $0 } ?? "nil")")
      }
      book.title = "Two"
      book.setValue(nil, forKey: "title")
      book[ManagedProperty<String?>("title")] = "Three"
      book.ownTitle = "Four"
      book.pages = 9
      #expect(changes == ["One to Two", "Two to nil", "nil to Three", "Three to Four"])
      observation.invalidate()
      book.title = "Five"
      #expect(changes.count == 4)
    }
  }

  @Test func optionsDecideWhatIsToldAndWhen() throws {
    try withBook { _, _, book in
      var calls: [String] = []
      func text<T>(_ change: NSKeyValueObservedChange<T>) -> String {
        "\(change.isPrior ? "prior" : "after") \(change.oldValue.map { "\($0)" } ?? "-") "
          + "\(change.newValue.map { "\($0)" } ?? "-")"
      }
      let observations = [
        book.observe(\.pages) { calls.append(text($1)) },
        book.observe(\.pages, options: [.initial, .new]) { calls.append("initial: " + text($1)) },
        book.observe(\.pages, options: [.prior, .old]) { object, change in
          calls.append(text(change) + " (\(object.pages))")
        },
      ]
      #expect(calls == ["initial: after - 7"])
      calls.removeAll()
      book.pages = 8
      #expect(calls == ["prior 7 - (7)", "after - -", "initial: after - 8", "after 7 - (8)"])
      for observation in observations { observation.invalidate() }
    }
  }

  @Test func anOptionalValueThatIsNilDiffersFromOneThatWasNotAskedFor() throws {
    try withBook { _, _, book in
      var values: [String??] = []
      let observations = [
        book.observe(\.title) { values += [$1.oldValue, $1.newValue] },
        book.observe(\.title, options: [.old, .new]) { values += [$1.oldValue, $1.newValue] },
      ]
      book.title = nil
      #expect(values.filter { $0 == .none }.count == 2)
      #expect(values.contains(.some("One")) && values.contains(.some(nil)))
      for observation in observations { observation.invalidate() }
    }
  }

  @Test func anObservationEndsWhenNobodyHoldsIt() throws {
    try withBook { _, _, book in
      var count = 0
      do {
        let observation = book.observe(\.title) { _, _ in count += 1 }
        book.title = "Two"
        withExtendedLifetime(observation) {}
      }
      book.title = "Three"
      #expect(count == 1)
    }
  }

  @Test func theOtherEndOfARelationshipIsObservedToo() throws {
    try withBook { _, context, book in
      let author = try #require(book.author)
      var authors: [String?] = []
      var kinds: [NSKeyValueChange] = []
      var came: [Set<NSManagedObject>] = []
      var went: [Set<NSManagedObject>] = []
      let observations = [
        book.observe(\.author, options: [.new]) { authors.append(($1.newValue ?? nil)?.text("name")) },
        book.observe(\.tags, options: [.old, .new]) { _, change in
          kinds.append(change.kind)
          came.append(change.newValue ?? [])
          went.append(change.oldValue ?? [])
        },
      ]
      author.mutableSetValue(forKey: "books").remove(book)
      author.addObject(book, toRelationship: "books")
      #expect(authors == [nil, "Ada"])
      let tag = context.make("Tag")
      tag.addObject(book, toRelationship: "books")
      book.removeObject(tag, fromRelationship: "tags")
      book.tags = [tag]
      #expect(kinds == [.insertion, .removal, .setting])
      #expect(came == [[tag], [], [tag]] && went == [[], [tag], []])
      withExtendedLifetime(observations) {}
    }
  }

  @Test func ownAccessorsOfRelationshipsSetTheOtherEnd() throws {
    try withBook { store, context, book in
      let other = context.make("Author", ["name": "Bob"])
      book.willChangeValue(forKey: "author")
      book.setPrimitiveValue(other, forKey: "author")
      book.didChangeValue(forKey: "author")
      #expect(other.members("books") == [book])
      let tag = context.make("Tag", ["label": "new"])
      book.willChangeValue(forKey: "tags", withSetMutation: .union, using: [tag])
      (book.primitiveValue(forKey: "tags") as? NSMutableSet)?.add(tag)
      book.didChangeValue(forKey: "tags", withSetMutation: .union, using: [tag])
      #expect(tag.members("books") == [book] && book.tags == [tag])
      try context.save()
      try #expect(
        store.read { try $0.all("Book", where: "author.name == 'Bob' AND ANY tags.label == 'new'").count } == 1)
    }
  }

  @Test func undoRollbackRefreshAndMergeAreChanges() throws {
    try withBook { store, context, book in
      context.undoManager = UndoManager()
      var titles: [String?] = []
      let observation = book.observe(\.title, options: [.new]) { titles.append($1.newValue ?? nil) }
      book.title = "Two"
      context.undo()
      #expect(titles == ["Two", "One"])
      book.title = "Three"
      context.rollback()
      #expect(titles.suffix(2) == ["Three", "One"])
      try store.save { try $0.all("Book")[0].setValue("Theirs", forKey: "title") }
      context.refresh(book, mergeChanges: false)
      #expect(titles.last == "Theirs")
      withExtendedLifetime(observation) {}
    }
  }

  @Test func anObservationDoesNotKeepItsObject() throws {
    try withBook { _, context, book in
      weak var gone: NSManagedObject?
      var observation: NSKeyValueObservation?
      do {
        let entity = try #require(NSEntityDescription.entity(forEntityName: "Book", in: context))
        let loose = ObservedBook(entity: entity, insertInto: nil)
        observation = loose.observe(\.title) { _, _ in }
        gone = loose
      }
      #expect(gone == nil)
      observation?.invalidate()
      observation?.invalidate()
    }
  }

  @Test func whatIsNoPropertyCannotBeObserved() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      try store.read { context in _ = context.make("Book").observe(\.hasChanges) { _, _ in } }
    }
    expectSentence(result, "cannot be observed", "Book")
  }
}
