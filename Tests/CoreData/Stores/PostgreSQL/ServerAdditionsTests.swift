@testable import CoreDataPostgreSQL
import Foundation
import Synchronization
import TestFiles
import Testing

@testable import CoreData

/// A store at a server gets the additions of a newer model.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerAdditionsTests {
  private func open(
    _ stack: StoreStack, _ model: NSManagedObjectModel, _ migration: AllowedMigration
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url, allowing: migration)
    return stack.context(coordinator)
  }

  private func indexes(_ stack: StoreStack) throws -> [String] {
    var parameters = ServerParameters()
    parameters.add(try ServerAddress(stack.url, nil).schema)
    let rows = try ServerDriver.open(PostgreSQLServer.shared.address()).execute(
      "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1", parameters)
    return (0..<rows.rowCount).compactMap { rows.text($0, 0) }
  }

  /// The library with a nickname of authors, of which there is an index, and another one of those who have it, and with
  /// shops.
  private func newerModel() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    let nickname = LibraryModel.attribute("nickname", .stringAttributeType)
    nickname.isIndexed = true
    if let author = model.entitiesByName["Author"], let name = author.propertiesByName["name"] {
      author.properties.append(nickname)
      let element = NSFetchIndexElementDescription(property: name, collationType: .binary)
      let index = NSFetchIndexDescription(name: "named", elements: [element])
      // A comparison with a value is left out: queries have parameters there.
      index.partialIndexPredicate = NSPredicate(format: "nickname != nil AND name != nil AND name != 'nobody'")
      author.indexes.append(index)
    }
    let shop = LibraryModel.entity("Shop", [LibraryModel.attribute("town", .stringAttributeType)])
    shop.uniquenessConstraints = [["town"]]
    shop.userInfo = [NSPersistentStoreAnnouncedKey: ""]
    model.entities.append(shop)
    return model
  }

  /// What older models say about attributes, and newer ones repeat, is no second index.
  @Test func anAttributeIsIndexedOnce() throws {
    let model = LibraryModel.make()
    func element(_ name: String) -> NSFetchIndexElementDescription {
      NSFetchIndexElementDescription(propertyName: name, collationType: .binary)
    }
    let author = try #require(model.entitiesByName["Author"])
    author.attributesByName["name"]?.isIndexed = true
    author.compoundIndexes = [["name"]]
    author.indexes = [NSFetchIndexDescription(name: "byName", elements: [element("name")])]
    let named = try indexes(StoreStack(.server, model)).filter { $0.contains("(name NULLS FIRST") }
    #expect(named.count == 1 && named.first?.hasSuffix("(name NULLS FIRST, _key NULLS FIRST)") == true, "\(named)")
  }

  @Test func aNewerModelsAdditionsAreMadeOnce() throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "new"])
      context.make("Book", ["title": "One", "tags": Set([tag])])
      context.make("Author", ["name": "Ada"])
      try context.save()
    }
    let before = try indexes(stack)
    // Where nothing is allowed it is another store's model.
    let error = #expect(throws: NSError.self) { try open(stack, newerModel(), .none) }
    #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
    // Otherwise there are new columns, tables and indexes, and the rows stay.
    for name in ["A", "B"] {
      let context = try open(stack, newerModel(), .additions)
      try context.performAndWait {
        #expect(try context.all("Book", where: "ANY tags.label == 'new'").count == 1)
        try #require(context.all("Author").first).setValue(name, forKey: "nickname")
        context.make("Shop", ["town": name])
        try context.save()
        #expect(try context.all("Author", where: "nickname == '\(name)'").count == 1)
      }
    }
    let added = try indexes(stack).filter { !before.contains($0) }
    #expect(added.count == 4 && added.contains { $0.contains("(nickname ") }, "\(added)")
    let condition = " WHERE ((nickname IS NOT NULL) AND (name IS NOT NULL))"
    #expect(added.contains { $0.hasSuffix(condition) }, "\(added)")
    #expect(added.contains { $0.contains("UNIQUE INDEX") && $0.contains("(town)") }, "\(added)")
    // The earlier version does not open it any more.
    #expect(throws: NSError.self) { try open(stack, LibraryModel.make(), .additions) }
  }

  @Test func moreThanAdditionsChangesNothing() throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      context.make("Tag", ["label": "new"])
      try context.save()
    }
    let model = newerModel()
    model.entitiesByName["Tag"]?.properties.append(
      LibraryModel.attribute("color", .stringAttributeType, optional: false))
    let error = #expect(throws: NSError.self) { try open(stack, model, .additions) }
    #expect(error?.code == NSPersistentStoreIncompatibleVersionHashError)
    #expect(error?.localizedDescription.contains("color") ?? false)
    #expect(try stack.perform { try $0.all("Tag").count } == 1)
    #expect(try open(stack, LibraryModel.make(), .none).performAndWait { true })
  }

  /// Programs of the earlier version save all the time while several of the newer one open the store.
  @Test func manyAddAtOnceWhileOthersSave() throws {
    let stack = try StoreStack(.server)
    let isOver = Mutex(false)
    let failures = Mutex<[String]>([])
    let saves = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    for number in 0..<3 {
      let context = try open(stack, LibraryModel.make(), .none)
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        while !isOver.withLock({ $0 }) {
          context.performAndWait {
            let tag = context.make("Tag", ["label": "\(number)"])
            context.make("Book", ["title": "\(number)", "tags": Set([tag])])
            context.make("Author", ["name": "\(number)"])
            do {
              try context.save()
              saves.signal()
            } catch {
              // A deadlock ends one of the two: the save says that it may be repeated.
              if (error as NSError).code != NSPersistentStoreTimeoutError {
                failures.withLock { $0.append("\(error)") }
              }
              context.rollback()
            }
          }
        }
      }
    }
    func waitForSaves() throws {
      for _ in 0..<20 { try #require(saves.wait(timeout: TestLimit.time) == .success, "\(failures.withLock { $0 })") }
    }
    defer { isOver.withLock { $0 = true } }
    try waitForSaves()
    nonisolated(unsafe) let place = stack
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do {
        let context = try open(place, newerModel(), .additions)
        try context.performAndWait {
          context.make("Shop", ["town": UUID().uuidString])
          try context.save()
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    while saves.wait(timeout: .now()) == .success {}
    try waitForSaves()
    isOver.withLock { $0 = true }
    group.wait()
    #expect(failures.withLock { $0 } == [])
    let context = try open(stack, newerModel(), .additions)
    let count = try context.performAndWait {
      try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Shop"))
    }
    #expect(count == 4)
  }

  /// The session of a program that adds to the store ends in the middle:
  ///
  ///     program            test
  ///                        locks a table
  ///     alters: waits
  ///                        ends its session
  ///     fails
  @Test func anAdditionThatIsCutOffChangesNothing() throws {
    let stack = try StoreStack(.server)
    let before = try indexes(stack)
    let schema = try ServerAddress(stack.url, nil)
    let connection = try ServerDriver.open(PostgreSQLServer.shared.address())
    try connection.run("BEGIN; LOCK TABLE \(schema.qualified("Author")) IN ACCESS EXCLUSIVE MODE")
    nonisolated(unsafe) let place = stack
    let failure = Mutex<NSError?>(nil)
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do { _ = try open(place, newerModel(), .additions) } catch {
        failure.withLock { $0 = error as NSError }
      }
      isOver.signal()
    }
    let end: SQL = """
      SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE NOT granted AND relation = \
      \(raw: schema.qualified("Author").quotedText)::regclass
      """
    let limit = ContinuousClock.now + .seconds(TestLimit.seconds)
    while try connection.execute(end).integer(0, 0) == 0 { try #require(ContinuousClock.now < limit) }
    isOver.wait()
    #expect(failure.withLock { $0?.code } == NSPersistentStoreOpenError)
    try connection.run("ROLLBACK")
    #expect(try indexes(stack) == before)
    #expect(try open(stack, LibraryModel.make(), .none).performAndWait { true })
    #expect(try open(stack, newerModel(), .additions).performAndWait { true })
  }
}
