import CoreData
import Testing

/// `addObserver(_:forKeyPath:options:context:)` and the observer's method.
@Suite struct KeyValueObserverTests {
  private func withBook(_ body: (NSManagedObjectContext, NSManagedObject) throws -> Void) throws {
    try TemporaryStore().read { context in try body(context, context.make("Book", ["title": "One", "pages": 7])) }
  }

  @Test func anObserverIsToldWithWhatItAskedFor() throws {
    try withBook { context, book in
      let (watcher, mark) = (Watcher(), UnsafeMutableRawPointer(bitPattern: 8))
      book.addObserver(watcher, forKeyPath: "title", options: [.old, .new, .initial, .prior], context: mark)
      book.addObserver(watcher, forKeyPath: "pages", context: nil)
      #expect(watcher.calls == ["title 8 new One"])
      watcher.calls = []
      book.setValue("Two", forKey: "title")
      book.setValue(nil, forKey: "title")
      book.setValue(8, forKey: "pages")
      #expect(
        watcher.calls == [
          "title 8 old One prior", "title 8 new Two old One", "title 8 old Two prior", "title 8 new nil old Two",
          "pages nil",
        ])
    }
  }

  @Test func membersThatComeAndGoAreTold() throws {
    try withBook { context, book in
      let watcher = Watcher()
      book.addObserver(watcher, forKeyPath: "tags", options: [.old, .new], context: nil)
      let tag = context.make("Tag")
      book.mutableSetValue(forKey: "tags").add(tag)
      #expect(watcher.kinds == [.insertion])
      book.mutableSetValue(forKey: "tags").remove(tag)
      #expect(watcher.kinds == [.insertion, .removal])
    }
  }

  @Test func aRemovedObserverIsToldNothing() throws {
    try withBook { _, book in
      let (watcher, first, second) = (
        Watcher(), UnsafeMutableRawPointer(bitPattern: 8), UnsafeMutableRawPointer(bitPattern: 16)
      )
      book.addObserver(watcher, forKeyPath: "title", context: first)
      book.addObserver(watcher, forKeyPath: "title", context: second)
      book.removeObserver(watcher, forKeyPath: "title", context: first)
      book.setValue("Two", forKey: "title")
      #expect(watcher.calls == ["title 16"])
      book.removeObserver(watcher, forKeyPath: "title")
      book.setValue("Three", forKey: "title")
      #expect(watcher.calls == ["title 16"])
    }
  }

  @Test func anObserverThatWasFreedIsToldNothing() throws {
    try withBook { _, book in
      var watcher: Watcher? = Watcher()
      weak let gone = watcher
      book.addObserver(watcher!, forKeyPath: "title", context: nil)
      watcher = nil
      book.setValue("Two", forKey: "title")
      #expect(gone == nil)
    }
  }

  /// The porting page shows the class.
  @Test func anObjectPublishesBeforeEachChange() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(PublishingBook.self)
    let store = try TemporaryStore(model)
    try store.save { $0.make("Book", ["title": "One"]) }
    try store.read { context in
      let book = try #require(context.all("Book").first as? PublishingBook)
      var titles: [String?] = []
      book.objectWillChange.subscribe { [unowned book] in titles.append(book.text("title")) }
      book.setValue("Two", forKey: "title")
      book.setValue("Three", forKey: "title")
      #expect(titles == ["One", "Two"])
      book.mutableSetValue(forKey: "tags").add(context.make("Tag"))
      #expect(titles == ["One", "Two", "Three"])
      titles = []
      context.refresh(book, mergeChanges: false)
      #expect(!titles.isEmpty)
    }
  }

  @Test func removingWhatDoesNotObserveEndsTheProcess() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try TemporaryStore().read { $0.make("Book").removeObserver(Watcher(), forKeyPath: "title") }
    }
    expectSentence(result, "cannot be removed as an observer of title: it does not observe that")
  }

  @Test func theProgressOfAMigrationIsObserved() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Author", ["name": "Ada"]) }
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("subtitle", .stringAttributeType))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: new)
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = false
    var steps: [Float] = []
    let observation = manager.observe(\.migrationProgress, options: [.new]) { manager, change in
      #expect(change.newValue == manager.migrationProgress)
      steps.append(manager.migrationProgress)
    }
    let watcher = Watcher()
    manager.addObserver(watcher, forKeyPath: "migrationProgress", options: [.new], context: nil)
    let url = store.folder.appendingPathComponent("new.sqlite")
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    #expect(steps.count > 4 && steps == steps.sorted() && steps.last == 1)
    #expect(watcher.calls.count == steps.count)
    #expect(watcher.calls.last?.hasPrefix("migrationProgress nil new 1") == true)
    observation.invalidate()
    manager.removeObserver(watcher, forKeyPath: "migrationProgress")
    manager.reset()
    #expect(steps.last == 1 && watcher.calls.count == steps.count)
  }
}

private final class Watcher: KeyValueObserver {
  var calls: [String] = []
  var kinds: [NSKeyValueChange] = []

  func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?
  ) {
    func text(_ key: NSKeyValueChangeKey) -> String {
      (change?[key]).map { " \(key.rawValue) \($0 is NSNull ? "nil" : "\($0)")" } ?? ""
    }
    let isPrior = change?[.notificationIsPriorKey] as? Bool ?? false
    calls.append(
      "\(keyPath ?? "") \(context.map { "\(UInt(bitPattern: $0))" } ?? "nil")\(text(.newKey))\(text(.oldKey))"
        + (isPrior ? " prior" : ""))
    if let kind = (change?[.kindKey] as? UInt).flatMap(NSKeyValueChange.init) { kinds.append(kind) }
  }
}

private class PublishingBook: NSManagedObject, KeyValueObserver {
  lazy var objectWillChange: Publisher = {
    for key in entity.propertiesByName.keys {
      addObserver(self, forKeyPath: key, options: .prior, context: nil)
    }
    return Publisher()
  }()

  func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?
  ) {
    if change?[.notificationIsPriorKey] != nil { objectWillChange.send() }
  }
}

/// What OpenCombine's `ObservableObjectPublisher` does for one subscriber.
private final class Publisher {
  private var subscriber: () -> Void = {}
  func subscribe(_ subscriber: @escaping () -> Void) { self.subscriber = subscriber }
  func send() { subscriber() }
}
