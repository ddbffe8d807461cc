@testable import CoreData

/// Random saves of a library, with a rival that writes between them. The same seed gives the same changes, so that two
/// ways of writing them can be compared.
final class RandomSaves {
  /// What each save did: "saved", or its error.
  private(set) var outcomes: [String] = []
  private let store: TemporaryStore
  private let context: NSManagedObjectContext
  private let rival: NSManagedObjectContext
  private var random: RandomSteps
  private var objects: [String: [NSManagedObject]] = [:]

  init(seed: Int, _ policy: NSMergePolicyType, _ groups: WriteGroups) throws {
    store = try TemporaryStore(Self.model(), options: [NSPersistentHistoryTrackingKey: true])
    store.writeGroups = groups
    context = store.context()
    context.mergePolicy = NSMergePolicy(merge: policy)
    rival = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    rival.persistentStoreCoordinator = try store.otherCoordinator([NSPersistentHistoryTrackingKey: true])
    random = RandomSteps(seed: seed + 1)
  }

  /// A library with unique titles, names and labels, and a count that triggers keep.
  private static func model() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    LibraryModel.addBookCount(to: model)
    return model
  }

  func run(saves: Int) throws {
    for number in 0..<saves {
      context.performAndWait {
        for _ in 0..<random.next(12) + 4 { change(number) }
      }
      if random.next(2) == 0 { try rivalChanges(number) }
      context.performAndWait { save() }
    }
  }

  /// The content of all tables, by name, without what differs from one store to the next.
  func content() throws -> [String: [[String?]]] {
    var content: [String: [[String?]]] = [:]
    for table in try store.sql("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap(\.first) {
      guard let table, table != "Z_METADATA", !table.hasPrefix("sqlite_") else { continue }
      let isHistory = table.hasPrefix("A")
      // The order of changes within a transaction, and its time, are not promised.
      let columns = try store.sql("SELECT name FROM pragma_table_info('\(table)')").compactMap { $0[0] }.filter {
        !isHistory || !["Z_PK", "ZTIMESTAMP"].contains($0)
      }
      let list = columns.map { "quote(\($0))" }.joined(separator: ", ")
      let places = columns.indices.map { "\($0 + 1)" }.joined(separator: ", ")
      content[table] = try store.sql("SELECT \(list) FROM \(table) ORDER BY \(places)")
    }
    return content
  }

  var isIntact: Bool { get throws { try store.sql("PRAGMA integrity_check") == [["ok"]] } }

  // MARK: Changes

  private func live(_ entity: String) -> [NSManagedObject] {
    (objects[entity] ?? []).filter { $0.managedObjectContext != nil && !$0.isDeleted }
  }

  private func some(_ entity: String, _ most: Int) -> [NSManagedObject] {
    let all = live(entity)
    guard !all.isEmpty else { return [] }
    let first = random.next(all.count)
    let step = random.next(3) + 1
    return stride(from: first, to: all.count, by: step).prefix(random.next(most) + 1).map { all[$0] }
  }

  private func make(_ entity: String, _ values: [String: Any]) {
    objects[entity, default: []].append(context.make(entity, values))
  }

  /// A title that is mostly new.
  private func title() -> String { "title \(random.next(40) == 0 ? 1 : random.next(1_000_000))" }

  private func change(_ number: Int) {
    switch random.next(14) {
    case 0, 1, 2:
      for _ in 0..<random.next(50) {
        let comes = random.next(4) == 0 ? ["artist": "somebody with quite a long name"] : [:]
        let values: [String: Any] = ["title": title(), "pages": random.next(9), "note": "not stored"]
        make(comes.isEmpty ? "Book" : "Comic", values.merging(comes) { $1 })
      }
    case 3:
      for _ in 0..<random.next(8) { make("Author", ["name": "author \(random.next(100_000))"]) }
    case 4:
      for _ in 0..<random.next(30) { make("Tag", ["label": "tag \(random.next(9))"]) }
    case 5:
      for _ in 0..<random.next(8) { make("Passport", ["number": "\(random.next(99))"]) }
    case 6, 7:
      for book in some(random.next(4) == 0 ? "Comic" : "Book", 90) { book.setValue(random.next(500), forKey: "pages") }
    case 8:
      for book in some("Book", 60) {
        book.setValue(Double(random.next(50)) / 4, forKey: "rating")
        if random.next(2) == 0 { book.setValue(Data([1, 2, UInt8(random.next(256))]), forKey: "cover") }
        if random.next(9) == 0 { book.setValue(title(), forKey: "title") }
      }
    case 9:
      let author = some("Author", 1).first
      for book in some("Book", 40) { book.setValue(author, forKey: "author") }
    case 10:
      guard let tag = some("Tag", 1).first else { return }
      for book in some("Book", 20) { book.addObject(tag, toRelationship: "tags") }
      tag.setValue(NSOrderedSet(array: some("Tag", 6)), forKey: "ordered")
    case 11:
      for (author, passport) in zip(some("Author", 5), some("Passport", 5)) {
        author.setValue(passport, forKey: "passport")
      }
    case 12:
      for book in some("Book", 100) { context.delete(book) }
    default:
      for object in some(["Author", "Tag", "Comic"][random.next(3)], 20) { context.delete(object) }
    }
  }

  /// Another coordinator changes, deletes and makes rows, which the context does not know.
  private func rivalChanges(_ number: Int) throws {
    try rival.performAndWait {
      rival.reset()
      let books = try rival.all("Book", sort: "title")
      guard !books.isEmpty else { return }
      for _ in 0..<random.next(4) {
        let book = books[random.next(books.count)]
        if random.next(3) == 0 { rival.delete(book) } else { book.setValue(random.next(500), forKey: "pages") }
      }
      if random.next(3) == 0, number % 2 == 0 { rival.make("Book", ["title": "title 1"]) }
      do { try rival.save() } catch { rival.rollback() }
    }
  }

  private func save() {
    do {
      try context.save()
      outcomes.append("saved")
    } catch {
      outcomes.append(description(of: error as NSError))
      context.rollback()
    }
    context.refreshAllObjects()
    for (entity, list) in objects { objects[entity] = list.filter { $0.managedObjectContext != nil } }
  }

  // MARK: Errors

  private func name(_ object: NSManagedObject?) -> String {
    guard let object else { return "none" }
    if !object.objectID.isTemporaryID { return object.objectID.uriRepresentation().lastPathComponent }
    return "new \(object.entity.name ?? "") \(object.value(forKey: "title") ?? "")"
  }

  private func description(of error: NSError) -> String {
    let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [Any] ?? []
    let texts = conflicts.map { conflict in
      switch conflict {
      case let conflict as NSMergeConflict:
        "\(name(conflict.sourceObject)) \(conflict.oldVersionNumber) \(conflict.newVersionNumber)"
      case let conflict as NSConstraintConflict:
        "\(conflict.constraint) \(name(conflict.databaseObject)) \(conflict.conflictingObjects.map { name($0) })"
      default: "\(conflict)"
      }
    }
    return "\(error.code): \(texts)"
  }
}
