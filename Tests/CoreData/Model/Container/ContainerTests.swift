import CoreData
import TestFiles
import Testing

@Suite struct ContainerTests {
  private final class Folder: Sendable {
    let url = temporaryURL("container")
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private func load(_ container: NSPersistentContainer) -> [(any Error)?] {
    // `nonisolated(unsafe)`: the handlers run before the call returns.
    nonisolated(unsafe) var results: [(any Error)?] = []
    container.loadPersistentStores { results.append($1) }
    return results
  }

  @Test func aContainerMakesItsFolderLoadsItsStoreAndGivesContexts() async throws {
    let folder = Folder()
    let container = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())
    #expect(container.persistentStoreDescriptions.count == 1)
    #expect(container.persistentStoreDescriptions[0].url?.lastPathComponent == "Library.sqlite")
    let file = folder.url.appendingPathComponent("deep/Library.sqlite")
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: file)]
    let results = load(container)
    #expect(results.count == 1 && results[0] == nil)
    #expect(FileManager.default.fileExists(atPath: file.path))
    #expect(container.viewContext.concurrencyType == .mainQueueConcurrencyType)
    #expect(container.viewContext.persistentStoreCoordinator === container.persistentStoreCoordinator)
    let background = container.newBackgroundContext()
    #expect(
      background.concurrencyType == .privateQueueConcurrencyType && background !== container.newBackgroundContext())
    let id = try await container.performBackgroundTask { context in
      let book = context.make("Book", ["title": "One"])
      try context.save()
      return book.objectID
    }
    let title = await container.viewContext.perform {
      container.viewContext.object(with: id).value(forKey: "title") as? String
    }
    #expect(title == "One")
  }

  /// `@unchecked Sendable` as its superclass is; it holds nothing of its own.
  private final class PlacedContainer: NSPersistentContainer, @unchecked Sendable {
    static let folder = Folder()
    override class func defaultDirectoryURL() -> URL { folder.url }
  }

  @Test func theDefaultStoreLiesInTheDefaultDirectoryWhichIsMade() throws {
    let plain = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())
    let url = NSPersistentContainer.defaultDirectoryURL().appendingPathComponent("Library.sqlite")
    #expect(plain.persistentStoreDescriptions.map(\.url) == [url])
    let container = PlacedContainer(name: "Library", managedObjectModel: LibraryModel.make())
    #expect(load(container).count == 1)
    let file = PlacedContainer.folder.url.appendingPathComponent("Library.sqlite")
    #expect(container.persistentStoreCoordinator.persistentStores.map(\.url) == [file])
    #expect(FileManager.default.fileExists(atPath: file.path))
    try container.persistentStoreCoordinator.remove(container.persistentStoreCoordinator.persistentStores[0])
    try FileManager.default.removeItem(at: PlacedContainer.folder.url)
  }

  @Test func contextsOfAContainerFollowNobodyUnlessTold() {
    let container = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())
    #expect(!container.newBackgroundContext().automaticallyMergesChangesFromParent)
    #expect(!container.viewContext.automaticallyMergesChangesFromParent)
  }

  @Test func aStoreIsAddedLaterWhereTheDescriptionSaysSo() async throws {
    let container = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())
    let description = NSPersistentStoreDescription()
    description.shouldAddStoreAsynchronously = true
    container.persistentStoreDescriptions = [description]
    let (stream, continuation) = AsyncStream<Bool>.makeStream()
    container.persistentStoreCoordinator.performAndWait {
      container.loadPersistentStores { continuation.yield($1 == nil) }
      // The coordinator's queue is busy with this block.
      #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
    }
    var answers = stream.makeAsyncIterator()
    #expect(await answers.next() == true)
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
  }

  @Test func theFormWithAHandlerRunsOnAQueueOfItsOwn() async throws {
    let container = NSPersistentContainer(name: "Library", managedObjectModel: LibraryModel.make())
    container.persistentStoreDescriptions = [NSPersistentStoreDescription()]
    _ = load(container)
    let isPrivate = await withCheckedContinuation { continuation in
      run(container) { continuation.resume(returning: $0.concurrencyType == .privateQueueConcurrencyType) }
    }
    #expect(isPrivate)
  }

  private func run(_ container: NSPersistentContainer, _ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    container.performBackgroundTask(block)
  }

  @Test func theDefaultDescriptionIsAStoreInMemoryOfItsOwn() throws {
    let containers = (0..<2).map { _ in NSPersistentContainer(name: "L", managedObjectModel: LibraryModel.make()) }
    for container in containers {
      container.persistentStoreDescriptions = [NSPersistentStoreDescription()]
      #expect(load(container).count == 1)
    }
    let context = containers[0].newBackgroundContext()
    try context.performAndWait {
      context.make("Book", ["title": "One"])
      try context.save()
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 1)
    }
    let other = containers[1].newBackgroundContext()
    try other.performAndWait { try #expect(other.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 0) }
  }

  @Test func eachDescriptionIsAnsweredAndErrorsAreHandedOver() throws {
    let folder = Folder()
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    let text = folder.url.appendingPathComponent("text.sqlite")
    try Data(repeating: 65, count: 5000).write(to: text)
    let model = LibraryModel.make()
    let container = NSPersistentContainer(name: "L", managedObjectModel: model)
    let wrongType = NSPersistentStoreDescription(url: folder.url.appendingPathComponent("a"))
    wrongType.type = "Fancy"
    let noConfiguration = NSPersistentStoreDescription(url: folder.url.appendingPathComponent("b"))
    noConfiguration.configuration = "None"
    let good = NSPersistentStoreDescription(url: folder.url.appendingPathComponent("good.sqlite"))
    container.persistentStoreDescriptions = [
      wrongType, NSPersistentStoreDescription(url: text), noConfiguration, good, good,
    ]
    let codes = load(container).map { ($0 as NSError?)?.code }
    #expect(codes == [134000, 134010, 134080, nil, 134080])
  }

  @Test func aStoreOfAnotherModelIsRefusedWithItsMetadata() throws {
    let store = try TemporaryStore()
    let model = NSManagedObjectModel()
    model.entities = [LibraryModel.entity("Book", [LibraryModel.attribute("title", .stringAttributeType)])]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    #expect {
      try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: nil)
    } throws: { error in
      let error = error as NSError
      return error.code == 134100 && error.userInfo["metadata"] != nil
    }
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: store.url)
    #expect(metadata[NSStoreUUIDKey] as? String == store.coordinator.persistentStores[0].identifier)
    #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(store.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }

  @Test func onesOwnMetadataIsKeptBesideTheStores() throws {
    let store = try TemporaryStore()
    let opened = store.coordinator.persistentStores[0]
    var metadata = store.coordinator.metadata(for: opened)
    metadata["app"] = "mine"
    metadata[NSStoreModelVersionHashesKey] = nil
    store.coordinator.setMetadata(metadata, for: opened)
    try store.save { $0.make("Tag") }
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: store.url)
    #expect(read["app"] as? String == "mine" && read[NSStoreModelVersionHashesKey] != nil)
  }

  @Test func aReadOnlyStoreIsReadAndNotWritten() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    let container = NSPersistentContainer(name: "L", managedObjectModel: LibraryModel.make())
    let description = NSPersistentStoreDescription(url: store.url)
    description.isReadOnly = true
    container.persistentStoreDescriptions = [description]
    #expect(load(container).first.flatMap { $0 } == nil)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let book = try context.all("Book")[0]
      #expect(book.text("title") == "One")
      book.setValue("Two", forKey: "title")
      #expect { try context.save() } throws: { ($0 as NSError).domain == NSCocoaErrorDomain }
      context.rollback()
      context.make("Book", ["title": "new"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 134030 }
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["One"]])
  }
}
