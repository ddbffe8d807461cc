import StoreTools
import TestFiles
import Testing

@testable import CoreData

/// A file of external data belongs to a version of its row: it stays while a reader, a backup or a power cut may need
/// it.
@Suite("External binary data and versions of rows") struct ExternalVersionTests {
  private let large = ExternalPhotos.large

  @Test("A pinned context reads the old value while another coordinator replaces it")
  func pinned() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let context = try ExternalPhotos.open(store.url)
    try context.performAndWait {
      try context.setQueryGenerationFrom(.current)
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Photo")) == 1)
      try ExternalPhotos.replaceAll(at: store.url, by: large(2))
      try #expect(context.all("Photo").first?.value(forKey: "data") as? Data == large(1))
    }
    try #expect(ExternalPhotos.values(at: store.url) == [large(2)])
  }

  @Test("A fetch of filled objects throws where a file is missing", arguments: [0, 1, 10])
  func missing(batchSize: Int) throws {
    let store = try ExternalPhotos.store()
    try store.save { context in
      for name in ["a", "b"] { context.make("Photo", ["name": name, "data": large(1)]) }
    }
    try FileManager.default.removeItem(at: ExternalPhotos.folder(of: store.url))
    let context = try ExternalPhotos.open(store.url)
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Photo")
      request.returnsObjectsAsFaults = false
      request.fetchBatchSize = batchSize
      expectError(CocoaError.fileReadNoSuchFile.rawValue) { _ = try context.fetch(request) }
      // Without values the objects are found all the same.
      request.returnsObjectsAsFaults = true
      request.includesPropertyValues = false
      try #expect(context.fetch(request).count == 2)
    }
  }

  @Test("A fetch that runs reads the old values while another coordinator replaces them")
  func running() throws {
    let store = try ExternalPhotos.store()
    try store.save { context in
      for name in ["a", "b", "c"] { context.make("Photo", ["name": name, "data": large(1)]) }
    }
    // Kept: the store of a coordinator that is gone is closed.
    let other = try store.otherCoordinator()
    defer { withExtendedLifetime(other) {} }
    let fetched = try #require(other.persistentStores.first as? SQLiteStore)
    var values: [Data?] = []
    try fetched.fetch(RowFetch(entityName: "Photo")) { storedEntity, _, row in
      // When the first row is read, all are replaced.
      if values.isEmpty { #expect(throws: Never.self) { try ExternalPhotos.replaceAll(at: store.url, by: nil) } }
      values.append(storedEntity.layout.slot("data").flatMap { row?.load($0, as: Data.self) })
    }
    #expect(values == [large(1), large(1), large(1)])
    try #expect(ExternalPhotos.values(at: store.url) == [nil, nil, nil])
  }

  @Test("The old value is complete after a power cut that took the log")
  func powerCut() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    _ = try store.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    try store.save { context in try context.all("Photo").first?.setValue(large(2), forKey: "data") }
    // The main file and the files beside it are on the disk; nothing has synchronised the log.
    let after = store.folder.appendingPathComponent("after/store.sqlite")
    let files = FileManager.default
    try files.createDirectory(at: after.deletingLastPathComponent(), withIntermediateDirectories: true)
    try files.copyItem(at: store.url, to: after)
    try files.copyItem(
      at: ExternalPhotos.folder(of: store.url).deletingLastPathComponent(),
      to: ExternalPhotos.folder(of: after).deletingLastPathComponent())
    try #expect(ExternalPhotos.values(at: after) == [large(1)])
    try #expect(ExternalPhotos.values(at: store.url) == [large(2)])
  }

  @Test("A row whose file is missing does not keep the connection's buffer")
  func missingAndPacker() throws {
    let store = try ExternalPhotos.store()
    let id = try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }.objectID
    try FileManager.default.removeItem(at: ExternalPhotos.folder(of: store.url))
    let file = try #require(store.coordinator.objectStores.first as? SQLiteStore)
    try file.database.write { connection in
      let packer = connection.packer
      #expect(throws: (any Error).self) { try file.row(id, connection) }
      #expect(connection.packer === packer && !packer.isBusy)
    }
  }

  @Test("A missing file is an error that names it, in fetches of all kinds and in faults")
  func missing() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let name = try #require(ExternalPhotos.files(beside: store.url).first)
    try FileManager.default.removeItem(at: ExternalPhotos.folder(of: store.url).appendingPathComponent(name))
    func expectMissing(_ body: () throws -> Void) {
      let error = #expect(throws: NSError.self) { try body() }
      #expect(error?.domain == NSCocoaErrorDomain && error?.code == CocoaError.fileReadNoSuchFile.rawValue)
      for part in [name, "Photo"] { #expect(error?.localizedDescription.contains(part) == true) }
      #expect((error?.userInfo[NSFilePathErrorKey] as? String)?.hasSuffix(name) == true)
    }
    let context = try ExternalPhotos.open(store.url)
    try context.performAndWait {
      expectMissing { _ = try context.all("Photo") }
      let rows = NSFetchRequest<NSDictionary>(entityName: "Photo")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["data"]
      expectMissing { _ = try context.fetch(rows) }
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Photo")
      ids.resultType = .managedObjectIDResultType
      ids.includesPropertyValues = false
      let id = try #require(context.fetch(ids).first)
      expectMissing { _ = try context.existingObject(with: id) }
      // A batch update, which reads no value, is the way out.
      let update = NSBatchUpdateRequest(entityName: "Photo")
      update.propertiesToUpdate = ["data": NSNull()]
      _ = try context.execute(update)
      try #expect(context.all("Photo").map { $0.value(forKey: "data") as? Data } == [nil])
    }
  }

  @Test("A backup has the values, and its own files")
  func backup() throws {
    let store = try ExternalPhotos.store()
    try store.save { context in
      context.make("Photo", ["name": "a", "data": large(1)])
      context.make("Photo", ["name": "b", "data": Data([2])])
    }
    let backup = store.folder.appendingPathComponent("backups/copy.sqlite")
    try FileManager.default.createDirectory(at: backup.deletingLastPathComponent(), withIntermediateDirectories: true)
    try StoreMaintenance(url: store.url).backUp(to: backup)
    try ExternalPhotos.replaceAll(at: store.url, by: nil)
    try #expect(ExternalPhotos.values(at: backup) == [large(1), Data([2])])
    #expect(ExternalPhotos.files(beside: backup).count == 1)
  }

  @Test("A backup removes what killed ones have left, and nothing of one that runs")
  func backupAfterKills() throws {
    let store = try ExternalPhotos.store()
    let (left, running) = (try store.unfinishedBackup(), try store.unfinishedBackup())
    let lock = open(running.path, O_RDONLY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    try StoreMaintenance(url: store.url).backUp(to: store.folder.appendingPathComponent("copy.sqlite"))
    let names = try FileManager.default.contentsOfDirectory(atPath: store.folder.path)
    #expect(names.filter { $0.hasSuffix(".tmp") } == [running.lastPathComponent])
    #expect(names.contains("copy.sqlite") && !names.contains(left.lastPathComponent))
    let folders = [left, running].map { ExternalData.supportFolder(of: $0).path }
    #expect(folders.map { access($0, F_OK) } == [-1, 0])
  }

  @Test("A backup that would share the store's folder is refused", arguments: ["store.backup", "inside"])
  func backupIntoTheOwnFolder(name: String) throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let folder = name == "inside" ? ".store_SUPPORT/_EXTERNAL_DATA/copy.sqlite" : name
    let backup = store.folder.appendingPathComponent(folder)
    expectError(NSPersistentStoreOperationError) { try StoreMaintenance(url: store.url).backUp(to: backup) }
    #expect(access(backup.path, F_OK) != 0)
    #expect(ExternalPhotos.files(beside: store.url).count == 1)
  }

  @Test("A backup holds the values of its moment though they are replaced while it is made")
  func backupMeanwhile() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let backup = store.folder.appendingPathComponent("copy.sqlite")
    var isReplaced = false
    try StoreMaintenance(url: store.url).backUp(to: backup) { _, _ in
      if !isReplaced { try ExternalPhotos.replaceAll(at: store.url, by: large(2)) }
      isReplaced = true
    }
    #expect(isReplaced)
    try #expect(ExternalPhotos.values(at: backup) == [large(1)])
  }

  @Test("A store that replaces another one brings its files, and a missing one leaves the other as it was")
  func replacing() throws {
    let (store, other) = (try ExternalPhotos.store(), try ExternalPhotos.store())
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    try other.save { $0.make("Photo", ["name": "b", "data": large(2)]) }
    let pinned = try ExternalPhotos.open(other.url)
    try pinned.performAndWait {
      try pinned.setQueryGenerationFrom(.current)
      try #expect(pinned.count(for: NSFetchRequest<NSManagedObject>(entityName: "Photo")) == 1)
      try store.coordinator.replacePersistentStore(
        at: other.url, withPersistentStoreFrom: store.url, ofType: NSSQLiteStoreType)
      // A reader of the earlier content goes on.
      try #expect(pinned.all("Photo").map { $0.value(forKey: "data") as? Data } == [large(2)])
    }
    try #expect(ExternalPhotos.values(at: other.url) == [large(1)])

    let third = try ExternalPhotos.store()
    try third.save { $0.make("Photo", ["name": "c", "data": large(3)]) }
    let name = try #require(ExternalPhotos.files(beside: store.url).first)
    try FileManager.default.removeItem(at: ExternalPhotos.folder(of: store.url).appendingPathComponent(name))
    let error = #expect(throws: NSError.self) {
      try store.coordinator.replacePersistentStore(
        at: third.url, withPersistentStoreFrom: store.url, ofType: NSSQLiteStoreType)
    }
    #expect(error?.localizedDescription.contains(name) == true)
    try #expect(ExternalPhotos.values(at: third.url) == [large(3)])
  }

  @Test("A store destroyed, migrated or copied beside another one leaves the files of that one")
  func neighbours() throws {
    // Apple's rule gives store.sqlite and store.backup one folder.
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let backup = store.folder.appendingPathComponent("store.backup")
    try store.coordinator.replacePersistentStore(
      at: backup, withPersistentStoreFrom: store.url, ofType: NSSQLiteStoreType)
    try ExternalPhotos.replaceAll(at: store.url, by: large(2))
    try #expect(ExternalPhotos.values(at: backup) == [large(1)])
    try store.coordinator.destroyPersistentStore(at: store.url, ofType: NSSQLiteStoreType)
    try #expect(ExternalPhotos.values(at: backup) == [large(1)])
  }

  @Test("A migration that ends external storage refuses a missing file instead of storing nil")
  func migration() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(3)]) }
    let name = try #require(ExternalPhotos.files(beside: store.url).first)
    try FileManager.default.removeItem(at: ExternalPhotos.folder(of: store.url).appendingPathComponent(name))
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Photo"]?.attributesByName["data"]?.allowsExternalBinaryDataStorage = false
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    let error = #expect(throws: NSError.self) {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
        options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    }
    #expect(error?.localizedDescription.contains(name) == true)
  }

  @Test("A store reached by a symbolic link has its files beside the file that the link leads to")
  func link() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let link = temporaryURL("link").appendingPathExtension("sqlite")
    defer { unlink(link.path) }
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    try #expect(ExternalPhotos.values(at: link) == [large(1)])
    try ExternalPhotos.replaceAll(at: link, by: large(2))
    try #expect(ExternalPhotos.values(at: store.url) == [large(2)])
  }
}

extension TemporaryStore {
  /// What a backup of this store has written before it is complete, with a large value.
  fileprivate func unfinishedBackup() throws -> URL {
    let file = folder.appendingPathComponent(".store.sqlite.backup.\(UUID().uuidString).tmp")
    try Data(count: 10).write(to: file)
    let values = ExternalPhotos.folder(of: file)
    try FileManager.default.createDirectory(at: values, withIntermediateDirectories: true)
    try Data(count: 10).write(to: values.appendingPathComponent(UUID().uuidString))
    return file
  }
}
