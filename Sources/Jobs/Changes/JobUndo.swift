import CoreData

/// Undoes what a job changed, in one transaction, if it has not been changed since. `workerpool undo` and the web page
/// call it; the pool need not run.
///
/// It goes back through the saves of the job. Each object must be as the save left it, in the properties that the job
/// changed; an object that the job inserted, in all of them. A deleted object comes back as a new one, with another
/// URI. The pool must have kept the changes: `run --keep-changes`.
///
/// ```text
/// the job's save              now                       undone
/// inserted Book/p7            as it was inserted        deleted
/// updated Book/p2: pages      pages as the job left     pages as before; its title may have changed since
/// deleted Book/p3             not there                 inserted again, with its values, as Book/p9
/// updated Book/p4: pages      pages changed since       refused, and with it everything
/// ```
///
/// All or nothing: with a part of the changes the app's objects could be in a state that no program has made.
package struct JobUndo {
  /// The author of the undoing transaction in the store's history.
  package static let author = "workerpool undo"

  private let store: JobStore

  package init(_ store: JobStore) { self.store = store }

  /// Undoes the changes of a job that has ended.
  ///
  /// Between the check and the save others may write. Changed objects make the save fail as a merge conflict; a job
  /// that a person has retried meanwhile is found by `checkNothingRuns`, inside of the save's transaction; and of two
  /// processes that undo the same job one inserts the mark `undone/KEY`, whose name is unique.
  ///
  /// - Parameter isDryRun: whether only to find out what would be done.
  /// - Returns: what was done, one line for each object, without values.
  /// - Throws: ``UndoError`` with nothing changed, and errors of the store.
  package func run(_ key: JobKey, isDryRun: Bool = false) throws -> [String] {
    let context = store.makeContext(name: "undo")
    context.transactionAuthor = Self.author
    return try context.performAndWait {
      let saves = try checkedSaves(of: key, in: context)
      var work = UndoneChanges(context)
      for save in saves.reversed() { try work.undo(save) }
      guard !isDryRun else { return work.lines }
      JobStore.setUndone(key, at: store.now, in: context)
      // A retried job must not go on from a checkpoint whose changes are undone.
      if let job = try job(key, in: context), job.checkpoint != nil { job.checkpoint = nil }
      context.check(inNextSave: { [self] in try checkNothingRuns(key) })
      do {
        try context.save()
      } catch let error as NSError where JobStore.isConflict(error) {
        let reader = store.makeContext(name: "undo")
        if let date = try reader.performAndWait({ try JobStore.undoneAt(key, in: reader) }) {
          throw UndoError.undone(date)
        }
        throw error
      }
      return work.lines
    }
  }

  private func job(_ key: JobKey, in context: NSManagedObjectContext) throws -> PoolJob? {
    try store.jobs(keys: [key], in: context).first
  }

  /// The saves of the job, if they can be undone at all.
  private func checkedSaves(of key: JobKey, in context: NSManagedObjectContext) throws -> [JobSave] {
    guard let job = try job(key, in: context) else { throw UndoError.noJob(key) }
    guard !job.state.isUnfinished else { throw UndoError.isUnfinished(job.state) }
    if let date = try JobStore.undoneAt(key, in: context) { throw UndoError.undone(date) }
    let saves = try JobStore.saves(of: key, in: context)
    if let omission = saves.lazy.compactMap(\.omission).first { throw UndoError.omitted(omission) }
    guard saves.contains(where: { !$0.changes.isEmpty }) else { throw UndoError.nothingKept(kind: job.kind) }
    return saves
  }

  /// Fails the save where a person has retried the job meanwhile: its new attempt works on what is undone. Called in
  /// the transaction of the save, in which no other process can write to a file, or change the rows at a server.
  private func checkNothingRuns(_ key: JobKey) throws {
    let reader = store.makeContext(name: "undo")
    try reader.performAndWait {
      guard let job = try job(key, in: reader), job.state.isUnfinished else { return }
      throw UndoError.isUnfinished(job.state)
    }
  }
}

/// Why the changes of a job cannot be undone. Nothing was changed. Each case says in one sentence what stands in the
/// way and, where there is a way, what to do.
package enum UndoError: Error, Hashable, CustomStringConvertible {
  case noJob(JobKey)
  case isUnfinished(JobState)
  case undone(Date)
  case nothingKept(kind: String)
  case omitted(String)
  /// What stands in the way, a sentence for each object.
  case changedSince([String])

  private static let shown = 20

  package var description: String {
    switch self {
    case .noJob(let key): return "there is no job p\(key)"
    case .isUnfinished(let state):
      return "the job is \(state.name): only the changes of a job that has ended are undone; cancel it first"
    case .undone(let date): return "the changes of the job were undone already, at \(Timestamp.text(date))"
    case .nothingKept(let kind):
      return "the pool has kept no changes of the job: it does so for jobs that run while the pool has "
        + "--keep-changes \(kind), and whose plugin uses WorkerKit"
    case .omitted(let reason): return "not all changes of the job are known: \(reason)"
    case .changedSince(let reasons):
      let rest = reasons.count > Self.shown ? ["and \(reasons.count - Self.shown) more"] : []
      return "nothing is undone: " + (reasons.prefix(Self.shown) + rest).joined(separator: "; ")
    }
  }
}

/// The changes that are taken back in a context, on its queue. Saves are taken back from the last to the first: later
/// saves of the same job are undone already when the objects are compared with what a save left.
private struct UndoneChanges {
  private let context: NSManagedObjectContext
  /// The objects that have come back, by the URIs that they had.
  private var restored: [String: NSManagedObject] = [:]
  /// The objects that come back with the present save.
  private var returning: Set<String> = []
  private(set) var lines: [String] = []

  init(_ context: NSManagedObjectContext) { self.context = context }

  /// Takes back one save, if everything is as that save left it. The order: deleted objects come back first, then
  /// values and relationships are set, then inserted objects go; so no relationship leads to an object that is not
  /// there.
  mutating func undo(_ save: JobSave) throws {
    returning = Set(save.changes.filter { $0.what == .deleted }.map(\.object))
    let reasons = save.changes.flatMap(obstacles)
    guard reasons.isEmpty else { throw UndoError.changedSince(reasons) }
    // Objects that come back are there before others refer to them.
    for change in save.changes where change.what == .deleted { try restore(change) }
    for change in save.changes where change.what != .inserted {
      let object = object(change.object)
      for (name, json) in change.before { set(name, of: object, to: json, in: change) }
    }
    for change in save.changes where change.what != .deleted {
      if change.what == .inserted, let object = object(change.object) { context.delete(object) }
      lines.append(
        change.what == .inserted
          ? "delete \(change.object)" : "set \(change.object): \(change.properties.joined(separator: ", "))")
    }
    context.processPendingChanges()
  }

  /// The object with a URI that it had when the job changed it; nil if it is not there.
  private func object(_ uri: String) -> NSManagedObject? {
    if let object = restored[uri] { return object }
    guard let id = context.persistentStoreCoordinator?.objectID(forURI: uri),
      // An error of the store is met again by the save.
      let object = try? context.existingObject(with: id), !object.isDeleted
    else { return nil }
    return object
  }

  // MARK: What stands in the way

  /// Why a change cannot be taken back, a sentence for each reason; none if it can.
  private func obstacles(_ change: ObjectChange) -> [String] {
    guard change.unkept.isEmpty else {
      return ["the values of \(change.unkept.joined(separator: ", ")) of \(change.object) cannot be kept"]
    }
    if change.what == .deleted { return missing(change) }
    guard let object = object(change.object) else { return ["\(change.object) was deleted since"] }
    let changed = change.after.keys.sorted().filter { !isAsLeft($0, of: object, by: change) }
    if !changed.isEmpty { return ["\(change.object) was changed since: \(changed.joined(separator: ", "))"] }
    return change.what == .updated ? missing(change) : []
  }

  /// Whether a property still has the value that the job gave it. Of a relationship to many objects only what the job
  /// added and removed counts: others may have changed the rest.
  private func isAsLeft(_ name: String, of object: NSManagedObject, by change: ObjectChange) -> Bool {
    guard let property = object.entity.propertiesByName[name], let left = change.after[name] else { return false }
    let value = object.value(forKey: name)
    guard change.what == .updated, (property as? NSRelationshipDescription)?.isToMany == true else {
      guard let relationship = property as? NSRelationshipDescription else {
        let json = KeptValue.json(value, of: property)
        // SQLite stores NaN as NULL (https://sqlite.org/floatingpoint.html).
        return json == left || (json == .null && KeptValue.isNaN(left, of: property))
      }
      return uris(value, relationship) == Set(strings(left).map(current))
    }
    // Others may have added and removed other objects.
    let members = Set(KeptValue.uris(value))
    return strings(left).map(current).allSatisfy(members.contains)
      && strings(change.before[name] ?? .null).map(current).allSatisfy { !members.contains($0) }
  }

  private func uris(_ value: Any?, _ relationship: NSRelationshipDescription) -> Set<String> {
    relationship.isToMany
      ? Set(KeptValue.uris(value)) : Set([(value as? NSManagedObject)?.objectID.uriString].compactMap(\.self))
  }

  /// The URI that the object has now: another one, where it was deleted by a later save and has come back.
  private func current(_ uri: String) -> String { restored[uri]?.objectID.uriString ?? uri }

  /// The texts of an array, or of one string.
  private func strings(_ json: JSONValue) -> [String] {
    json.arrayValue?.compactMap(\.stringValue) ?? json.stringValue.map { [$0] } ?? []
  }

  /// Objects that the restored relationships would refer to and that are gone, and properties that the model has lost
  /// since.
  private func missing(_ change: ObjectChange) -> [String] {
    guard let entity = context.persistentStoreCoordinator?.objectID(forURI: change.object)?.entity else {
      return ["\(change.object) is of an entity that the model lacks"]
    }
    return change.before.sorted { $0.key < $1.key }.flatMap { name, json -> [String] in
      guard let property = entity.propertiesByName[name] else {
        return ["\(change.object) has no property \(name) now"]
      }
      guard property is NSRelationshipDescription else { return [] }
      return strings(json).filter { !willBeThere($0) }.map { "\($0), to which \(change.object) led, was deleted" }
    }
  }

  /// Also for an object that comes back with this save.
  private func willBeThere(_ uri: String) -> Bool { returning.contains(uri) || object(uri) != nil }

  // MARK: The way back

  /// Inserts an object for one that the job deleted. It gets its permanent ID at once: other objects may refer to it,
  /// by the URI that it had.
  private mutating func restore(_ change: ObjectChange) throws {
    guard let name = context.persistentStoreCoordinator?.objectID(forURI: change.object)?.entity.name else { return }
    let object = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
    try context.obtainPermanentIDs(for: [object])
    restored[change.object] = object
    lines.append("insert \(object.objectID.uriString), which was \(change.object)")
  }

  /// Gives a property the value that it had before.
  private func set(_ name: String, of object: NSManagedObject?, to json: JSONValue, in change: ObjectChange) {
    guard let object, let property = object.entity.propertiesByName[name] else { return }
    if let attribute = property as? NSAttributeDescription {
      return object.setValue(KeptValue.value(json, of: attribute), forKey: name)
    }
    guard (property as? NSRelationshipDescription)?.isToMany == true else {
      return object.setValue(json.stringValue.flatMap(self.object), forKey: name)
    }
    // Only what the job added and removed.
    let added = Set((change.what == .updated ? change.after[name] : nil).map(strings)?.compactMap(self.object) ?? [])
    let members = (object.value(forKey: name) as? Set<NSManagedObject> ?? []).subtracting(added)
    object.setValue(members.union(strings(json).compactMap(self.object)) as NSSet, forKey: name)
  }
}
