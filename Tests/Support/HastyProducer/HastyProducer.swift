import Foundation
import PoolClient

/// An app that submits a job in its own save and is gone at once, before anything could be said to the pool.
///
///     hasty-producer STORE MODEL QUEUE KIND
@main struct HastyProducer {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    let url = URL(fileURLWithPath: arguments[0])
    guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: arguments[1])) else { _exit(66) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try JobQueue.model(with: model))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: JobQueue.appStore(at: url).configuration, at: url, options: nil)
    let jobs = try JobQueue(in: coordinator, at: url, queue: arguments[2])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      try jobs.submit(JobRequest(kind: arguments[3]), in: context)
      // The process ends on the thread that saves, as soon as the commit is in the file: nobody gets to send anything.
      _ = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextDidSave, object: context, queue: nil
      ) { _ in _exit(0) }
      try context.save()
      _exit(70)
    }
  }
}
