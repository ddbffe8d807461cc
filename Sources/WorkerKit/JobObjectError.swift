import Jobs

/// A URI among a job's objects that does not name an object of the store. Another attempt cannot help, so a worker that
/// lets it pass ends the job at once; catch it where a deleted object means that there is nothing to do.
///
/// ```swift
/// import WorkerKit
///
/// @main struct Remover: Worker {
///   static let kind = "remove"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     do {
///       for object in try job.objects() { context.delete(object) }
///     } catch let error as JobObjectError {
///       job.output = "nothing is left to do: \(error)"
///     }
///   }
/// }
/// ```
public struct JobObjectError: DetailedFailure, Hashable, Sendable, CustomStringConvertible {
  /// The URI, as the job names it.
  public let uri: String
  /// What is wrong with it, as the rest of a sentence: that it belongs to another store, names an entity that the model
  /// lacks, is temporary, or does not exist any more.
  public let reason: String

  /// The URI, and what is wrong with it.
  public var description: String { "\(uri) \(reason)" }
  /// Nothing: the job has done nothing.
  public var output: String? { nil }
  /// Nothing: no program has run.
  public var standardError: [String] { [] }
  /// Nil: no program has run.
  public var signal: Int32? { nil }
  /// True: the object will not appear.
  public var isPermanent: Bool { true }

  init(uri: String, reason: String) {
    self.uri = uri
    self.reason = reason
  }

  /// For a URI that the coordinator knows no object ID for.
  init(unknown uri: String, to coordinator: NSPersistentStoreCoordinator) {
    let stores = coordinator.persistentStores.compactMap(\.identifier)
    self.uri = uri
    reason =
      if let object = ObjectURI(uri) {
        stores.contains(object.store)
          ? "names the entity \(object.entity), which the model does not have"
          : "belongs to another store: this one has the identifier \(stores.first ?? "")"
      } else if TemporaryObjectURI(uri) != nil {
        "is a temporary ID, which means nothing to other processes: obtain permanent IDs before the job is submitted"
      } else {
        "is not the URI of an object"
      }
  }
}
