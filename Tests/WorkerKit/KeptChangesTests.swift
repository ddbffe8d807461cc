import Foundation
import TestFiles
import Testing
import WorkerKit
import WorkerProtocol

@testable import Jobs

/// What jobs of kinds whose changes are kept leave beside them, and the way back.
@Suite(.ownThreads) struct KeptChangesTests {
  /// Does what its parameter `do` says, to the authors and books of the store.
  private struct Edit: Worker {
    static let kind = "edit"

    func run(_ job: Job, in context: NSManagedObjectContext) throws {
      let objects = try job.objects()
      switch try job.parameters["do"]?.stringValue {
      case "insert":
        let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue("new", forKey: "name")
        let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
        book.setValue("title", forKey: "title")
        book.setValue(author, forKey: "author")
        try job.setResults([author, book])
      case "update": objects[0].setValue("changed", forKey: "name")
      case "delete": context.delete(objects[0])
      case "steps":
        objects[0].setValue("one", forKey: "name")
        try job.save(checkpoint: Data("one".utf8))
        objects[0].setValue("two", forKey: "name")
        context.delete(objects[1])
      case "roll back":
        try job.save(checkpoint: Data("one".utf8))
        objects[0].setValue(String(repeating: "x", count: 30), forKey: "name")
        #expect(throws: (any Error).self) { try context.save() }
        context.rollback()
        objects[0].setValue("right", forKey: "name")
      case "link": objects[0].setValue(NSSet(array: Array(objects.dropFirst())), forKey: "tags")
      default: throw PermanentFailure("unknown")
      }
    }
  }

  private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID().uuidString)")
  private let store: JobStore
  private let trial: JobTrial
  private let undo: JobUndo

  init() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    store = try JobStore(url: directory.appendingPathComponent("app.sqlite"), model: Self.model())
    trial = try JobTrial(workers: [Edit.self], store: store, keptKinds: [Edit.kind])
    undo = JobUndo(store)
  }

  /// Authors with a name and a birthday, their books, which a deletion leaves without an author, and books' tags.
  private static func model() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
      return attribute
    }
    func entity(_ name: String) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      return entity
    }
    func relationship(_ name: String, to entity: NSEntityDescription, most: Int) -> NSRelationshipDescription {
      let relationship = NSRelationshipDescription()
      (relationship.name, relationship.destinationEntity, relationship.maxCount) = (name, entity, most)
      relationship.isOptional = true
      relationship.deleteRule = .nullifyDeleteRule
      return relationship
    }
    let (author, book, tag) = (entity("Author"), entity("Book"), entity("Tag"))
    let (books, writer) = (relationship("books", to: book, most: 0), relationship("author", to: author, most: 1))
    let (tags, tagged) = (relationship("tags", to: tag, most: 0), relationship("books", to: book, most: 0))
    (books.inverseRelationship, writer.inverseRelationship) = (writer, books)
    (tags.inverseRelationship, tagged.inverseRelationship) = (tagged, tags)
    let name = attribute("name", .stringAttributeType)
    name.setValidationPredicates([NSPredicate(format: "length < 20")], withValidationWarnings: ["it is too long"])
    author.properties = [name, attribute("born", .dateAttributeType), books]
    book.properties = [attribute("title", .stringAttributeType), writer, tags]
    tag.properties = [attribute("word", .stringAttributeType), tagged]
    let model = NSManagedObjectModel()
    model.entities = [author, book, tag]
    return model
  }

  private func perform<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
    let context = store.makeContext(name: "test")
    return try context.performAndWait { try body(context) }
  }

  private static let born = Date(timeIntervalSinceReferenceDate: -0.1)

  /// An author with two books.
  private func makeAuthor() throws -> (author: NSManagedObjectID, books: [NSManagedObjectID]) {
    try perform { context in
      let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
      author.setValue("old", forKey: "name")
      author.setValue(Self.born, forKey: "born")
      let books = (0..<2).map { number in
        let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
        book.setValue("book \(number)", forKey: "title")
        book.setValue(author, forKey: "author")
        return book
      }
      try context.save()
      return (author.objectID, books.map(\.objectID))
    }
  }

  /// Runs a job to its end; its key.
  private func run(_ what: String, _ objects: [NSManagedObjectID] = []) throws -> JobKey {
    let job = try perform { context in
      let request = JobRequest(
        kind: Edit.kind, objects: objects.map(\.uriString), parameters: #"{"do": "\#(what)"}"#)
      let job = try store.insert([request], into: context)[0]
      try context.save()
      return job.objectID
    }
    _ = try trial.run(try #require(job.objectURI), stop: nil)
    let state = try perform { try ($0.existingObject(with: job) as? Job)?.state }
    #expect(state == .succeeded)
    return try #require(job.key)
  }

  private func count(_ entity: String) throws -> Int {
    try perform { try $0.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) }
  }

  private func name(_ id: NSManagedObjectID) throws -> String? {
    try perform { try $0.existingObject(with: id).value(forKey: "name") as? String }
  }

  private func set(_ value: Any?, _ key: String, of id: NSManagedObjectID) throws {
    try perform { context in
      try context.existingObject(with: id).setValue(value, forKey: key)
      try context.save()
    }
  }

  private func saves(_ key: JobKey) throws -> [JobSave] { try perform { try JobStore.saves(of: key, in: $0) } }

  @Test func whatAJobInsertedIsListedAndDeletedOnce() throws {
    let job = try run("insert")
    let saves = try saves(job)
    #expect(saves.map(\.attempt) == [1])
    #expect(saves[0].changes.map(\.what) == [.inserted, .inserted])
    #expect(try count("Author") == 1 && count("Book") == 1)
    // A dry run says the same, and does nothing.
    let planned = try undo.run(job, isDryRun: true)
    #expect(planned.count == 2 && planned.allSatisfy { $0.hasPrefix("delete ") }, "\(planned)")
    #expect(try count("Author") == 1)
    #expect(try undo.run(job) == planned)
    #expect(try count("Author") == 0 && count("Book") == 0)
    let again = #expect(throws: UndoError.self) { try undo.run(job) }
    #expect("\(try #require(again))".contains("undone already"), "\(again as Any)")
  }

  @Test func anUpdateIsUndoneUnlessItsPropertyWasChangedSince() throws {
    let (author, _) = try makeAuthor()
    let job = try run("update", [author])
    #expect(try saves(job).flatMap(\.changes).map(\.properties) == [["name"]])
    try set("another", "name", of: author)
    let refused = #expect(throws: UndoError.self) { try undo.run(job) }
    #expect(refused == .changedSince(["\(author.uriString) was changed since: name"]))
    #expect(try name(author) == "another")
    // Another property does not matter.
    try set("changed", "name", of: author)
    try set(Date(), "born", of: author)
    _ = try undo.run(job)
    #expect(try name(author) == "old")
  }

  @Test func anInsertedObjectThatOthersUseIsNotDeleted() throws {
    let job = try run("insert")
    let (_, books) = try makeAuthor()
    try perform { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Author")
      request.predicate = NSPredicate(format: "name == 'new'")
      let author = try #require(try context.fetch(request).first)
      try context.existingObject(with: books[0]).setValue(author, forKey: "author")
      try context.save()
    }
    let refused = try #require(#expect(throws: UndoError.self) { try undo.run(job) })
    #expect("\(refused)".contains("was changed since: books"), "\(refused)")
    #expect(try count("Author") == 2)
  }

  @Test func aDeletedObjectComesBackWithItsValuesAndRelationships() throws {
    let (author, books) = try makeAuthor()
    let job = try run("delete", [author])
    #expect(try count("Author") == 0)
    let lines = try undo.run(job)
    #expect(lines.contains { $0.hasPrefix("insert ") && $0.hasSuffix("which was \(author.uriString)") }, "\(lines)")
    try perform { context in
      let authors = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Author"))
      #expect(authors.map { $0.value(forKey: "name") as? String } == ["old"])
      #expect(authors.first?.value(forKey: "born") as? Date == Self.born)
      for book in books {
        #expect(try context.existingObject(with: book).value(forKey: "author") as? NSManagedObject === authors.first)
      }
    }
  }

  @Test func theSavesOfAJobAreUndoneFromTheLastToTheFirst() throws {
    let (author, books) = try makeAuthor()
    let job = try run("steps", [author, books[0]])
    #expect(try saves(job).map { $0.changes.map(\.what) } == [[.updated], [.updated, .deleted]])
    _ = try undo.run(job)
    #expect(try name(author) == "old")
    #expect(try count("Book") == 2)
  }

  @Test func whatIsSavedAfterARolledBackSaveIsKept() throws {
    let (author, _) = try makeAuthor()
    let job = try run("roll back", [author])
    #expect(try saves(job).flatMap(\.changes).map(\.after) == [["name": .string("right")]])
    _ = try undo.run(job)
    #expect(try name(author) == "old")
  }

  @Test func aJobThatWasUndoneRunsAgainAsOftenAsItIsRetried() throws {
    // Given a job with two saves that has failed after them, and is undone
    let (author, books) = try makeAuthor()
    let job = try run("steps", [author, books[0]])
    func retry() throws {
      try perform { context in
        let row = try #require(try store.jobs(keys: [job], in: context).first)
        row.state = .dead
        try row.markRetried()
        try context.save()
      }
      _ = try trial.run(try #require(store.objectID(job: job)?.objectURI), stop: nil)
    }
    _ = try undo.run(job)
    // When it runs two more times, then each save is kept, after those before it
    for count in [2, 4] {
      try perform { context in
        let book = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book")).first)
        let row = try #require(try store.jobs(keys: [job], in: context).first)
        row.objectsText = "\(author.uriString)\n\(book.objectID.uriString)"
        try context.save()
      }
      try retry()
      #expect(try saves(job).count == count)
    }
  }

  @Test func ofManyMembersOnlyThoseThatTheJobAddedGo() throws {
    let (_, books) = try makeAuthor()
    let tags = try perform { context in
      let tags = (0..<3).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context) }
      try context.existingObject(with: books[0]).setValue(NSSet(object: tags[0]), forKey: "tags")
      try context.save()
      return tags.map(\.objectID)
    }
    // The job replaces one tag by another, and another context adds a third.
    let job = try run("link", [books[0], tags[1]])
    try perform { context in
      let book = try context.existingObject(with: books[0])
      book.mutableSetValue(forKey: "tags").add(try context.existingObject(with: tags[2]))
      try context.save()
    }
    _ = try undo.run(job)
    try perform { context in
      let left = try context.existingObject(with: books[0]).value(forKey: "tags") as? Set<NSManagedObject>
      #expect(Set(left?.map(\.objectID) ?? []) == [tags[0], tags[2]])
    }
  }

  @Test func theChangesGoWithTheirJob() throws {
    let job = try run("insert")
    _ = try undo.run(job)
    try perform { context in
      _ = try store.delete(try store.jobs(keys: [job], in: context), except: nil, in: context)
      try context.save()
      #expect(try JobStore.saves(of: job, in: context).isEmpty)
      #expect(try JobStore.undoneAt(job, in: context) == nil)
    }
  }

  @Test func jobsOfOtherKindsKeepNothing() throws {
    let other = try JobTrial(workers: [Edit.self], store: store)
    let job = try perform { context in
      let job = try store.insert(
        [JobRequest(kind: Edit.kind, objects: [], parameters: #"{"do": "insert"}"#)], into: context)[0]
      try context.save()
      return job.objectID
    }
    _ = try other.run(try #require(job.objectURI), stop: nil)
    let refused = #expect(throws: UndoError.self) { try undo.run(try #require(job.key)) }
    #expect(refused == .nothingKept(kind: Edit.kind))
  }
}
