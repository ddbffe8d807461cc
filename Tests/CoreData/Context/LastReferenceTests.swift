import CoreData
import Testing

/// Foundation frees an observer's block in the middle of its own work: what the block held last must go quietly.
@Suite struct LastReferenceTests {
  @Test func itMayBeAMergingContext() async {
    await #expect(processExitsWith: .success) { try LastHolder.mergingContext.check() }
  }

  @Test func itMayBeAContextWithAnUndoManager() async {
    await #expect(processExitsWith: .success) { try LastHolder.contextWithUndoManager.check() }
  }

  @Test func itMayBeAFetchedResultsController() async {
    await #expect(processExitsWith: .success) { try LastHolder.fetchedResultsController.check() }
  }

  @Test func aDelegateThatIsSetAgainHearsEachChangeOnce() throws {
    try TemporaryStore().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      let listener = Listener()
      try controller.performFetch()
      for _ in 0..<3 {
        controller.delegate = nil
        controller.delegate = listener
      }
      _ = context.make("Book", ["title": "new"])
      context.processPendingChanges()
      #expect(listener.changes == 1)
    }
  }
}

/// What follows notifications for as long as it lives.
private enum LastHolder {
  case mergingContext, contextWithUndoManager, fetchedResultsController

  /// Removes an observer whose block alone holds the object. Ends the process with a status if that goes wrong.
  func check() throws {
    let store = try TemporaryStore()
    let (token, isGone) = try observe(store)
    NotificationCenter.default.removeObserver(token)
    if !isGone() { exit(3) }
    // The centre works afterwards.
    let (writer, reader) = (store.context(), store.context())
    reader.automaticallyMergesChangesFromParent = true
    try writer.performAndWait {
      _ = writer.make("Book", ["title": "new"])
      try writer.save()
    }
    let count = try reader.performAndWait { try reader.all("Book").count }
    if count != 1 { exit(4) }
  }

  private func observe(_ store: TemporaryStore) throws -> (token: any NSObjectProtocol, isGone: () -> Bool) {
    // `nonisolated(unsafe)`: the block only holds it.
    let context = store.context()
    nonisolated(unsafe) let last = try context.performAndWait { try object(context) }
    let token = NotificationCenter.default.addObserver(forName: .init("Never"), object: nil, queue: nil) { _ in
      withExtendedLifetime(last) {}
    }
    return (token, { [weak last] in last == nil })
  }

  private func object(_ context: NSManagedObjectContext) throws -> AnyObject {
    switch self {
    case .mergingContext: context.automaticallyMergesChangesFromParent = true
    case .contextWithUndoManager: context.undoManager = UndoManager()
    case .fetchedResultsController:
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      let listener = Listener()
      controller.delegate = listener
      try controller.performFetch()
      return controller
    }
    return context
  }
}

private final class Listener: NSObject, NSFetchedResultsControllerDelegate {
  var changes = 0
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) { changes += 1 }
}
