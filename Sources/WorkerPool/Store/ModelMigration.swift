import CoreData
import Foundation
import Jobs
import LinuxSystem
import StoreTools

/// The migration of a store to a newer model: what it changes, a backup, and the work itself.
///
/// It is lightweight migration with an inferred mapping, in the store's own file. The pool's jobs lie in tables of
/// their own there, and stay.
public struct ModelMigration {
  /// Why there is no migration.
  public enum Failure: Error, CustomStringConvertible {
    /// There is no file at the path.
    case noStore(String)
    /// The store cannot be opened or read.
    case unreadable(store: String, reason: String)
    /// No known model is the one that the store was made with.
    case unknownModel(store: String, difference: String?)
    /// The models differ in a way that no mapping can be inferred for.
    case notInferred(store: String, reason: String)
    /// The backup cannot be written.
    case backup(path: String, reason: String)
    /// The migration began and was taken back.
    case failed(store: String, reason: String, backup: String?)

    /// What happened and what to do, as one line.
    public var description: String {
      switch self {
      case .noStore(let path): "there is no store at \(path)"
      case .unreadable(let store, let reason): "the store \(store) cannot be read: \(reason)"
      case .unknownModel(let store, let difference):
        "the store \(store) was made with a model that is not known here"
          + (difference.map { " (\($0))" } ?? "") + ": give its file with --from"
      case .notInferred(let store, let reason):
        "the store \(store) cannot be migrated without a mapping model: \(reason); let a program of the app do it "
          + "(NSMigrationManager)"
      case .backup(let path, let reason): "nothing was changed: the backup \(path) cannot be written: \(reason)"
      case .failed(let store, let reason, let backup):
        "the store \(store) is as it was: \(reason)" + (backup.map { "; the backup is \($0)" } ?? "")
      }
    }
  }

  /// What happens to one entity.
  public struct EntityChange: Equatable, Sendable {
    /// Its name in the new model; in the old one for an entity that is gone.
    public var name: String
    /// Its objects now, those of its subentities left out.
    public var rows: Int
    /// Phrases such as "new: name". Empty where the entity stays as it is.
    public var changes: [String]
  }

  /// How far the work is.
  public enum Progress: Equatable, Sendable {
    /// The number of pages that are in the backup, and of all pages.
    case backingUp(Int, of: Int)
    /// The migration runs; the number of bytes that it has written to the write-ahead log.
    case migrating(Int)
  }

  /// The entities that change, by name.
  public let changes: [EntityChange]
  /// How many entities stay as they are.
  public let unchanged: Int
  /// The objects of all entities.
  public let rows: Int
  /// The name of the version that the store has; nil where only the store's own copy of its model is known.
  public let version: String?

  private let store: URL
  private let source: NSManagedObjectModel
  private let destination: NSManagedObjectModel

  /// Compares store and model. Nothing is written.
  ///
  /// - Parameters:
  ///   - path: the store's file.
  ///   - model: the new model, or a bundle of versions whose current one it is.
  ///   - old: the model that the store was made with; nil for a version of `model`, or the copy that the store keeps.
  /// - Returns: nil for a store that is of the model already.
  /// - Throws: ``Failure``, or `ModelLoaderError`.
  public init?(store path: String, model: String, from old: String? = nil) throws {
    guard FileManager.default.fileExists(atPath: path) else { throw Failure.noStore(path) }
    destination = try ModelLoader.load(model)
    store = URL(fileURLWithPath: path)
    let metadata: [String: Any]
    do {
      try StoreFiles.requireRegular(path)
      metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: store, options: nil)
    } catch {
      throw Failure.unreadable(store: path, reason: ErrorText.text(error))
    }
    if destination.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) { return nil }
    var versions =
      try old.map { [(name: String?.none, model: try ModelLoader.load($0))] } ?? ModelFit.versions(of: model)
    // A store without a copy of its model has one version less to try.
    if old == nil, let kept = try? NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store) {
      versions.append((nil, kept))
    }
    guard
      let sourceVersion = versions.first(where: {
        $0.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
      })
    else {
      throw Failure.unknownModel(
        store: path, difference: ModelFit.difference(model: old ?? model, store: path))
    }
    (version, source) = sourceVersion
    let mapping: InferredMapping
    do {
      mapping = try InferredMapping(from: source.entities, to: destination.entities)
    } catch {
      throw Failure.notInferred(store: path, reason: ErrorText.text(error))
    }
    let counts = try Self.count(store, source)
    rows = counts.values.reduce(0, +)
    let kept = Set(mapping.entities.compactMap(\.source?.name))
    let gone = source.entities.compactMap(\.name).filter { !kept.contains($0) }
    let entityChanges =
      mapping.entities.map { Self.change($0, counts) }
      + gone.map { EntityChange(name: $0, rows: counts[$0] ?? 0, changes: ["the entity is gone with its objects"]) }
    changes = entityChanges.filter { !$0.changes.isEmpty }.sorted { $0.name < $1.name }
    unchanged = entityChanges.count - changes.count
  }

  // MARK: What changes

  private static func count(_ store: URL, _ model: NSManagedObjectModel) throws -> [String: Int] {
    do {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store, options: [NSReadOnlyPersistentStoreOption: true])
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return try context.performAndWait {
        var counts: [String: Int] = [:]
        for entity in model.entities {
          let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
          request.includesSubentities = false
          counts[entity.name ?? ""] = try context.count(for: request)
        }
        return counts
      }
    } catch {
      throw Failure.unreadable(store: store.path, reason: ErrorText.text(error))
    }
  }

  private static func change(_ entity: InferredMapping.Entity, _ counts: [String: Int]) -> EntityChange {
    let new = entity.destination
    let name = new.name ?? ""
    guard let old = entity.source else { return EntityChange(name: name, rows: 0, changes: ["the entity is new"]) }
    var changes = old.name == new.name ? [] : ["the entity was \(old.name ?? "")"]
    changes += propertyChanges(entity, old)
    if changes.isEmpty, old.versionHash != new.versionHash { changes.append("its place among the entities changes") }
    return EntityChange(name: name, rows: counts[old.name ?? ""] ?? 0, changes: changes)
  }

  /// What becomes of the properties.
  private static func propertyChanges(_ entity: InferredMapping.Entity, _ old: NSEntityDescription) -> [String] {
    let former = entity.former
    var (added, renamed, changed): ([String], [String], [String]) = ([], [], [])
    for (name, property) in entity.destination.storedProperties.sorted(by: { $0.key < $1.key }) {
      guard let was = former[name] else {
        added.append(name)
        continue
      }
      if was.name != name { renamed.append("\(was.name) to \(name)") }
      if let what = difference(was, property) { changed.append("\(name) \(what)") }
    }
    let gone = Set(old.storedProperties.keys).subtracting(former.values.map(\.name)).sorted()
    return [
      ("new", added), ("gone with their values", gone), ("renamed", renamed), ("changed", changed),
    ].filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1.joined(separator: ", "))" }
  }

  private static func difference(_ old: NSPropertyDescription, _ new: NSPropertyDescription) -> String? {
    if old.isOptional != new.isOptional { return new.isOptional ? "becomes optional" : "becomes mandatory" }
    if let old = old as? NSRelationshipDescription, let new = new as? NSRelationshipDescription {
      if old.isToMany != new.isToMany { return new.isToMany ? "becomes to-many" : "becomes to-one" }
      return old.versionHash == new.versionHash ? nil : "leads elsewhere, or counts otherwise"
    }
    return old.versionHash == new.versionHash || old.name != new.name ? nil : "gets another type or other rules"
  }

  // MARK: The work

  /// The default path of a store's backup. The time stands before the extension: the folder with a
  /// store's large values has the name of its file without the extension, and each backup has its own.
  public static func backupPath(of store: String, at now: Date = Date()) -> String {
    let digits = Timestamp.text(Date(timeIntervalSinceReferenceDate: now.timeIntervalSinceReferenceDate.rounded(.down)))
    let time = digits.replacing("-", with: "").replacing(":", with: "")
    let url = URL(fileURLWithPath: store)
    let end = url.pathExtension.isEmpty ? "" : "." + url.pathExtension
    return store.dropLast(end.count) + ".before-migration-" + time + end
  }

  /// Makes the backup, then migrates the store in one transaction.
  ///
  /// - Parameters:
  ///   - backup: where the copy of the store goes; nil for none.
  ///   - progress: called on the calling thread, now and then.
  /// - Throws: ``Failure``. The store is then as it was.
  public func run(backup: String?, progress: (Progress) -> Void = { _ in }) throws {
    if let backup {
      do {
        try StoreMaintenance(url: store).backUp(to: URL(fileURLWithPath: backup)) { done, all in
          progress(.backingUp(done, of: all))
        }
      } catch {
        throw Failure.backup(path: backup, reason: ErrorText.text(error))
      }
    }
    do {
      try migrate(progress)
    } catch {
      throw Failure.failed(store: store.path, reason: ErrorText.text(error), backup: backup)
    }
  }

  /// Seconds between two reports while SQLite works.
  private static let interval = 0.5

  private func migrate(_ progress: (Progress) -> Void) throws {
    let outcome = MigrationOutcome()
    // Coordinators find the old model among those in use.
    let models = (source, destination)
    let url = store
    try BackgroundThread.start("migration") {
      outcome.end(
        with: Result {
          let coordinator = NSPersistentStoreCoordinator(managedObjectModel: models.1)
          let opened = try withExtendedLifetime(models.0) {
            try coordinator.addPersistentStore(
              ofType: NSSQLiteStoreType, configurationName: nil, at: url,
              options: [
                NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
              ])
          }
          try coordinator.remove(opened)
        })
    }
    while true {
      if let result = outcome.wait(Self.interval) { return try result.get() }
      // Before the log exists nothing is written.
      let attributes = try? FileManager.default.attributesOfItem(atPath: store.path + "-wal")
      progress(.migrating((attributes?[.size] as? NSNumber)?.intValue ?? 0))
    }
  }
}

/// What came of the migration's thread.
///
/// `@unchecked Sendable`: the condition guards the result.
private final class MigrationOutcome: @unchecked Sendable {
  private let condition = NSCondition()
  private var result: Result<Void, any Error>?

  func end(with result: Result<Void, any Error>) {
    condition.withLock {
      self.result = result
      condition.broadcast()
    }
  }

  /// The result; nil when there is none after these seconds.
  func wait(_ seconds: Double) -> Result<Void, any Error>? {
    condition.withLock {
      let end = Date(timeIntervalSinceNow: seconds)
      while result == nil, condition.wait(until: end) {}
      return result
    }
  }
}
