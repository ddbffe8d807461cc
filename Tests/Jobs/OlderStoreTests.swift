import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

/// Stores of the first version of the pool's model.
@Suite struct OlderStoreTests {
  /// The pool's model as it was: fewer attributes, four entities, other indexes, no unique values of jobs.
  private static func firstModel() -> NSManagedObjectModel {
    let model = JobModel.make()
    let newer: Set = ["activeKey", "batch", "limitKey", "options", "output"]
    let newerEntities: Set = ["PoolWait", "PoolPeriodic", "PoolSubmission"]
    model.entities = model.entities.filter { !newerEntities.contains($0.name ?? "") } + [claimEntity()]
    for (name, attribute) in model.entitiesByName["PoolFile"]?.attributesByName ?? [:] where name != "name" {
      attribute.isOptional = false
    }
    let job = model.entities.first { $0.name == "PoolJob" }
    job?.uniquenessConstraints = []
    job?.indexes = []
    job?.properties = job?.properties.filter { !newer.contains($0.name) } ?? []
    if let attributes = job?.attributesByName, let state = attributes["state"], let kind = attributes["kind"] {
      job?.indexes = [
        NSFetchIndexDescription(
          name: "ready",
          elements: [state, kind].map { NSFetchIndexElementDescription(property: $0, collationType: .binary) })
      ]
    }
    return model
  }

  /// An entity that later versions do not have.
  private static func claimEntity() -> NSEntityDescription {
    let claim = NSEntityDescription()
    claim.name = "PoolClaim"
    claim.properties = ["job", "pid"].map { name in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = .integer64AttributeType
      return attribute
    }
    return claim
  }

  @Test func aStoreOfTheFirstVersionIsOpenedWithAllThatItHolds() throws {
    let place = temporaryURL("older")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let url = place.appendingPathComponent("app.sqlite")

    // Given: the app's store, and beside it a pool's store of the first version with a few jobs.
    let app = NSPersistentStoreCoordinator(managedObjectModel: NoteModel.make())
    try app.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let old = NSPersistentStoreCoordinator(managedObjectModel: Self.firstModel())
    let oldStore = try old.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
    let writer = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    writer.persistentStoreCoordinator = old
    let uris = try writer.performAndWait {
      let jobs = (0..<3).map { number in
        let job = NSEntityDescription.insertNewObject(forEntityName: "PoolJob", into: writer)
        job.setValue("index", forKey: "kind")
        job.setValue(Date(timeIntervalSinceReferenceDate: 1000), forKey: "createdAt")
        job.setValue(number < 2 ? "key" : "other", forKey: "uniqueKey")
        job.setValue(NSNumber(value: number == 0 ? JobState.succeeded.rawValue : 0), forKey: "state")
        return job
      }
      let setting = NSEntityDescription.insertNewObject(forEntityName: "PoolSetting", into: writer)
      setting.setValue("pausedQueues", forKey: "name")
      setting.setValue("slow", forKey: "value")
      let file = NSEntityDescription.insertNewObject(forEntityName: "PoolFile", into: writer)
      file.setValue("jobs.json", forKey: "name")
      for (index, key) in ["device", "inode", "modified", "size"].enumerated() {
        file.setValue(NSNumber(value: index + 1), forKey: key)
      }
      try writer.save()
      return jobs.map(\.objectID.uriString)
    }
    let identifier = oldStore.identifier
    for store in old.persistentStores { try old.remove(store) }
    for store in app.persistentStores { try app.remove(store) }

    // When: this version opens it.
    let store = try JobStore(url: url, model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.upgrade(in: context)
      try store.upgrade(in: context)

      // Then: identity, jobs and settings are as they were, and unique keys are kept.
      #expect(store.poolIdentifier == identifier)
      let ids = try uris.map { try #require(store.coordinator.objectID(forURI: $0)) }
      let jobs = try ids.map { try #require(try context.existingObject(with: $0) as? Job) }
      #expect(jobs.map(\.state) == [.succeeded, .available, .available])
      #expect(jobs.allSatisfy { $0.kind == "index" && $0.queue == "default" && $0.options == JobOptions() })
      #expect(try store.pauses(in: context).queues == ["slow"])
      let files = try store.takenFiles(in: context)
      #expect(files.map(\.key.name) == ["jobs.json"] && files.first?.key.directory == nil)
      let identity = try #require(files.first?.earlierIdentity)
      #expect(identity.inode == 2 && identity.modified == 3 && identity.size == 4)
      #expect(try store.insert([JobRequest(kind: "a", uniqueKey: "key")], into: context).isEmpty)
      #expect(try store.insert([JobRequest(kind: "a", uniqueKey: "new")], into: context).count == 1)
      // Files are noted by their directories and names now.
      _ = store.insertTakenFile(TakenFileKey("private", in: "directory"), into: context)
      try jobs[1].markSucceeded(startedAt: Date())
      try context.save()
      #expect(try store.insert([JobRequest(kind: "a", uniqueKey: "key")], into: context).count == 1)
      try context.save()
      #expect(try store.readyJobs(ReadyQuery(kind: "index", limit: 9), in: context).map(\.queue) == ["default"])
      #expect(try !store.hasDependents(in: context))
    }

    // And: it is opened again without more ado, as is the app's.
    _ = try JobStore(url: url, model: NoteModel.make())
    try app.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
  }

  // MARK: Newer stores

  @Test func aStoreThatANewerVersionHasWrittenIsRefusedWithASentence() throws {
    let place = temporaryURL("newer")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let url = place.appendingPathComponent("app.sqlite")
    let store = try JobStore(url: url, model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.upgrade(in: context)
      // Given: what the next version notes.
      let request = NSFetchRequest<NSManagedObject>(entityName: "PoolSetting")
      request.predicate = NSPredicate(format: "name == %@", "version")
      let setting = try #require(try context.fetch(request).first)
      setting.setValue("3", forKey: "value")
      try context.save()
      // Then:
      #expect(throws: JobModelError.storeIsNewer(url.path)) { try store.upgrade(in: context) }
    }
    let sentence = "a newer version of workerpool has worked on the jobs in \(url.path): update this program"
    #expect(JobModelError.storeIsNewer(url.path).description == sentence)
  }

  @Test func aStoreWithAttributesOfANewerVersionIsRefusedAndStaysAsItIs() throws {
    let place = temporaryURL("newer")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let url = place.appendingPathComponent("app.sqlite")
    // Given: the pool's store of a version with one more attribute.
    let model = JobModel.make()
    let attribute = NSAttributeDescription()
    attribute.name = "colour"
    attribute.attributeType = .stringAttributeType
    attribute.isOptional = true
    model.entitiesByName["PoolJob"]?.properties.append(attribute)
    let newer = NSPersistentStoreCoordinator(managedObjectModel: model)
    let newerStore = try newer.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
    try newer.remove(newerStore)
    // When: this version opens it. Then:
    #expect(throws: JobModelError.storeIsNewer(url.path)) { try JobStore(url: url, model: NoteModel.make()) }
    try newer.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
  }
}
