import CoreData

@MainActor func merging(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let view = container.viewContext
  let background = container.newBackgroundContext()

  let id = try await background.perform {
    let person = Person(context: background)
    person.name = "Ada"
    try background.save()
    return person.objectID
  }
  let person = try view.existingObject(with: id) as? Person
  try show("the view context has \(person?.name ?? "nil")", person?.name == "Ada")

  // A context keeps the values that it has read. Here each context merges the other's saves, on its own queue.
  // `nonisolated(unsafe)`, twice: the saving queue waits until the other one has merged.
  let tokens = [
    NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: background, queue: nil
    ) { notification in
      nonisolated(unsafe) let notification = notification
      view.performAndWait { view.mergeChanges(fromContextDidSave: notification) }
    },
    NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: view, queue: nil) {
      notification in
      nonisolated(unsafe) let notification = notification
      background.performAndWait { background.mergeChanges(fromContextDidSave: notification) }
    },
  ]
  defer { tokens.forEach(NotificationCenter.default.removeObserver) }

  // The classic form of background work: an operation that creates its private context in `main()`.
  let operation = RenameOperation(container: container, id: id, to: "Ada Lovelace")
  let saved = NotificationCenter.default.addObserver(
    forName: .NSManagedObjectContextDidSave, object: nil, queue: nil
  ) { notification in
    guard (notification.object as? NSManagedObjectContext)?.name == RenameOperation.contextName else { return }
    // `nonisolated(unsafe)`: nothing else uses this notification, and the merge only reads the IDs of its objects.
    nonisolated(unsafe) let notification = notification
    view.perform { view.mergeChanges(fromContextDidSave: notification) }
  }
  defer { NotificationCenter.default.removeObserver(saved) }
  await operation.run()
  await view.perform(schedule: .enqueued) {}
  try show("after the operation the view context has \(person?.name ?? "nil")", person?.name == "Ada Lovelace")

  // A context can do this by itself: it then follows all saves of its coordinator or its parent.
  view.automaticallyMergesChangesFromParent = true
  try await container.performBackgroundTask { context in
    (context.object(with: id) as? Person)?.name = "Countess"
    try context.save()
  }
  await view.perform(schedule: .enqueued) {}
  try show("merged by itself: \(person?.name ?? "nil")", person?.name == "Countess")
}

/// Renames a person on the operation queue's thread.
///
/// `@unchecked Sendable`: its properties are constant.
final class RenameOperation: Operation, @unchecked Sendable {
  static let contextName = "rename"
  private let container: NSPersistentContainer
  private let id: NSManagedObjectID
  private let newName: String

  init(container: NSPersistentContainer, id: NSManagedObjectID, to name: String) {
    self.container = container
    self.id = id
    newName = name
  }

  override func main() {
    let context = container.newBackgroundContext()
    context.name = Self.contextName
    context.performAndWait {
      (context.object(with: id) as? Person)?.name = newName
      do { try context.save() } catch { print("  the operation cannot save: \(error)") }
    }
  }

  /// Runs the operation on a queue and suspends until it has ended.
  func run() async {
    await withCheckedContinuation { continuation in
      completionBlock = { continuation.resume() }
      OperationQueue().addOperation(self)
    }
  }
}
