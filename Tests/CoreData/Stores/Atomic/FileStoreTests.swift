import TestFiles
import Testing

@testable import CoreData

/// Stores in files that are written whole: binary and XML.
@Suite struct FileStoreTests {
  static let kinds = [StoreKind.binary, .xml]

  private static var values: [String: Any] {
    [
      "title": "a <b> & \"c\"\r\n\t]]> é 🎈", "pages": -7, "price": NSDecimalNumber(string: "12345678901234567890.25"),
      "rating": 0.1, "weight": Float(0.1), "cover": Data([0, 255, 1]),
      "uuid": UUID(uuidString: "0E82928F-05F0-40AF-851B-1FA617A37DB3") as Any,
      "link": URL(string: "https://a.b/c?d=e&f") as Any,
      "extra": ["x": 1, "y": "two"] as NSDictionary,
    ]
  }

  @Test(arguments: kinds)
  func valuesOfAllTypesComeBackAsTheyWere(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 0.1)])
      context.make("Book", Self.values.merging(["isRead": true, "author": author]) { $1 })
      context.make("Book", ["title": "\u{1}\u{0}\u{FFFE}", "rating": Double.infinity])
      context.make("Comic", ["title": "", "artist": "Bob", "rating": -Double.greatestFiniteMagnitude])
      try context.save()
    }
    let context = try stack.context(stack.another())
    try context.performAndWait {
      let book = try #require(context.all("Book", where: "pages < 0").first)
      for (name, value) in Self.values {
        #expect(NSArray(object: value).isEqual(to: [book.value(forKey: name) as Any]), "\(name)")
      }
      #expect(book.value(forKeyPath: "author.born") as? Date == Date(timeIntervalSinceReferenceDate: 0.1))
      #expect(book.value(forKey: "isRead") as? Bool == true && book.value(forKey: "note") == nil)
      let others = try context.all("Book", where: "pages == 0", sort: "title")
      #expect(others.map { $0.text("title") } == ["", "\u{1}\u{0}\u{FFFE}"])
      #expect(
        others[0].entity.name == "Comic" && others[0].text("artist") == "Bob" && others[0].value(forKey: "price") == nil
      )
      #expect(others[1].value(forKey: "rating") as? Double == .infinity)
    }
  }

  /// Base64 makes more than ten million bytes of it, in one piece of text.
  @Test(arguments: kinds)
  func aLargeFileIsReadAgain(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let page = Data((0..<8_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let cover = (0..<1_000).reduce(into: Data()) { cover, _ in cover += page }
    try stack.perform { context in
      context.make("Book", ["title": "heavy", "cover": cover])
      context.make("Book", ["title": "light"])
      try context.save()
    }
    let context = try stack.context(stack.another())
    try context.performAndWait {
      let books = try context.all("Book", where: "pages == 0", sort: "title")
      #expect(books.map { $0.text("title") } == ["heavy", "light"])
      #expect(books.first?.value(forKey: "cover") as? Data == cover)
    }
  }

  /// Programs create such a file to reserve its name.
  @Test(arguments: kinds)
  func aStoreIsCreatedInAnEmptyFile(kind: StoreKind) throws {
    let folder = temporaryURL("empty")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("store")
    try Data().write(to: url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: kind.type, at: url)
    #expect(metadata[NSStoreUUIDKey] as? String == coordinator.persistentStores.first?.identifier)
  }

  @Test(arguments: kinds)
  func relationshipsAndTheirOrderComeBack(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let tags = ["c", "a", "b"].map { context.make("Tag", ["label": $0]) }
      tags[0].setValue(NSOrderedSet(array: [tags[2], tags[0], tags[1]]), forKey: "ordered")
      let author = context.make("Author", ["name": "Ada"])
      for title in ["one", "two"] {
        context.make("Book", ["title": title, "author": author, "tags": Set(tags.dropFirst())])
      }
      author.setValue(context.make("Passport", ["number": "7"]), forKey: "passport")
      try context.save()
    }
    let context = try stack.context(stack.another())
    try context.performAndWait {
      let tag = try #require(context.all("Tag", where: "label == 'c'").first)
      #expect(
        (tag.value(forKey: "ordered") as? NSOrderedSet)?.array.compactMap { ($0 as? NSManagedObject)?.text("label") }
          == ["b", "c", "a"])
      let author = try #require(context.all("Author").first)
      #expect((author.value(forKey: "books") as? NSSet)?.count == 2 && author.object("passport")?.text("number") == "7")
      try #expect(
        context.all("Tag", where: "ANY books.author.name == 'Ada'", sort: "label").map { $0.text("label") } == [
          "a", "b",
        ])
      try #expect(context.all("Book", where: "tags.@count == 2").count == 2)
    }
  }

  @Test(arguments: kinds)
  func changesAndDeletionsAreKept(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let books = ["a", "b", "c"].map { context.make("Book", ["title": $0]) }
      try context.save()
      books[0].setValue("changed", forKey: "title")
      context.delete(books[1])
      try context.save()
      let id = books[1].objectID
      context.make("Book", ["title": "d"])
      try context.save()
      try #expect(context.all("Book").allSatisfy { $0.objectID != id })
    }
    let context = try stack.context(stack.another())
    try context.performAndWait {
      try #expect(context.all("Book", sort: "title").map { $0.text("title") } == ["c", "changed", "d"])
      // A key is not given again.
      let all = try context.all("Book").map(\.objectID.key)
      let new = context.make("Book", ["title": "e"])
      try context.save()
      #expect(new.objectID.key > all.max() ?? 0)
    }
  }

  @Test(arguments: kinds)
  func theKeyOfADeletedObjectIsNotGivenAgain(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let key = try stack.perform { context in
      let tag = context.make("Tag", ["label": "a"])
      try context.save()
      context.delete(tag)
      try context.save()
      return tag.objectID.key
    }
    let context = try stack.context(stack.another())
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "b"])
      try context.save()
      #expect(tag.objectID.key > key)
    }
  }

  @Test(arguments: kinds)
  func aFileThatSomebodyElseHasChangedIsNotOverwritten(kind: StoreKind) throws {
    // Given two coordinators that have read the same file.
    let stack = try StoreStack(kind)
    let other = try stack.context(stack.another())
    // When both change it, then the second is told, and the first one's change stays.
    try stack.perform { context in
      context.make("Tag", ["label": "first"])
      try context.save()
    }
    try other.performAndWait {
      other.make("Tag", ["label": "second"])
      let error = #expect(throws: NSError.self) { try other.save() }
      #expect(error?.code == 134030 && error?.localizedDescription.contains("another program") == true)
      #expect(other.insertedObjects.count == 1)
      try #expect(other.persistentStoreCoordinator?.objectStores[0].count(RowFetch(entityName: "Tag")) == 0)
    }
    let again = try stack.context(stack.another())
    try again.performAndWait { try #expect(again.all("Tag").map { $0.text("label") } == ["first"]) }
  }

  @Test(arguments: kinds)
  func aSaveThatCannotBeWrittenIsTakenBack(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "kept"])
      try context.save()
      // A folder stands where the temporary file goes.
      let temporary = stack.folder.appendingPathComponent(".store.\(getpid()).tmp")
      try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
      tag.setValue("changed", forKey: "label")
      context.make("Tag", ["label": "new"])
      expectError(134030) { try context.save() }
      try FileManager.default.removeItem(at: temporary)
      #expect(tag.hasChanges && context.insertedObjects.count == 1)
      try stack.perform { try #expect($0.all("Tag").map { $0.text("label") } == ["kept"]) }
      try context.save()
      try stack.perform { try #expect($0.all("Tag", sort: "label").map { $0.text("label") } == ["changed", "new"]) }
    }
    // No temporary file is left.
    try #expect(FileManager.default.contentsOfDirectory(atPath: stack.folder.path) == ["store"])
  }

  /// The directory can only be synchronised after the new file has taken the old one's place.
  @Test(arguments: kinds)
  func aSaveThatFailsAfterItsFileIsInPlaceIsTakenBack(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let store = try #require(stack.store as? FileStore)
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "kept"])
      try context.save()
      let synchronize = store.synchronize
      store.synchronize = { _ in throw CocoaError(.fileWriteUnknown) }
      tag.setValue("changed", forKey: "label")
      #expect(throws: (any Error).self) { try context.save() }
      store.synchronize = synchronize
      let other = try stack.context(stack.another())
      try other.performAndWait { try #expect(other.all("Tag").map { $0.text("label") } == ["kept"]) }
      try context.save()
      let again = try stack.context(stack.another())
      try again.performAndWait { try #expect(again.all("Tag").map { $0.text("label") } == ["changed"]) }
    }
  }

  /// The SQLite file has committed before the other file takes its place.
  @Test(arguments: kinds)
  func aSaveToTwoStoresThatFailsAfterTheFirstCommitTellsWhatIsSaved(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let store = try #require(stack.store as? FileStore)
    let sqlite = try stack.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: stack.folder.appendingPathComponent("sqlite"))
    try stack.perform { context in
      let tags = [store as NSPersistentStore, sqlite].map { place in
        let tag = context.make("Tag", ["label": "new"])
        context.assign(tag, to: place)
        return tag
      }
      let synchronize = store.synchronize
      store.synchronize = { _ in throw CocoaError(.fileWriteUnknown) }
      let error = #expect(throws: NSError.self) { try context.save() }
      store.synchronize = synchronize
      #expect(error?.code == 134040)
      #expect(error?.userInfo[NSAffectedStoresErrorKey] as? [NSPersistentStore] == [store])
      #expect(context.insertedObjects == [tags[0]] && !tags[1].hasChanges)
      try context.save()
      try #expect(stack.coordinator.objectStores.map { try $0.count(RowFetch(entityName: "Tag")) } == [1, 1])
    }
  }

  @Test(arguments: kinds)
  func whatIsNoStoreOfTheTypeIsRefusedWithASentence(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: ["a": 1] as NSDictionary, requiringSecureCoding: false)
    let good = try Data(contentsOf: stack.url)
    for (content, word) in [
      (Data("no store".utf8), "no"), (archive, kind == .binary ? "keyed archive" : "no"), (good.dropLast(20), ""),
    ] {
      let place = stack.folder.appendingPathComponent(UUID().uuidString)
      try Data(content).write(to: place)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      let error = #expect(throws: NSError.self) {
        try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: place)
      }
      #expect(error?.code == 134010 && error?.localizedDescription.contains(place.path) == true)
      #expect(word.isEmpty || error?.localizedDescription.contains(word) == true)
      try #expect(Data(contentsOf: place) == Data(content))
    }
    expectError(134100) {
      let model = LibraryModel.make()
      model.entities = model.entities + [LibraryModel.entity("Other", [])]
      try stack.coordinator.remove(stack.store)
      model.entitiesByName["Tag"]?.properties += [LibraryModel.attribute("more", .stringAttributeType)]
      _ = try stack.another(model)
    }
  }

  @Test(arguments: kinds)
  func aReadOnlyStoreIsReadAndNotWritten(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    let before = try Data(contentsOf: stack.url)
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try other.addPersistentStore(
      ofType: kind.type, configurationName: nil, at: stack.url, options: [NSReadOnlyPersistentStoreOption: true])
    let context = stack.context(other)
    try context.performAndWait {
      let tag = try #require(context.all("Tag").first)
      tag.setValue("b", forKey: "label")
      expectError(134030) { try context.save() }
    }
    try #expect(Data(contentsOf: stack.url) == before)
    for option in [NSPersistentStoreMustExistOption, NSReadOnlyPersistentStoreOption] {
      let missing = stack.folder.appendingPathComponent("none")
      expectError(134080) {
        try other.addPersistentStore(
          ofType: kind.type, configurationName: nil, at: missing, options: [option: true])
      }
      #expect(!FileManager.default.fileExists(atPath: missing.path))
    }
  }
}
