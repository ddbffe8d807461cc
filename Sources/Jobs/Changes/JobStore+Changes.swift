import CoreData

/// What jobs changed, for kinds whose changes the pool keeps: a setting of the pool's for each save, written by that
/// save, and one that says that a person has undone them.
///
/// ```text
/// name                        value
/// changes/17/00000001         {"attempt":1,"date":…,"changes":[…]}
/// changes/17/00000002         {"attempt":1,…}            a plugin may save as often as it likes
/// undone/17                   817551999.5                when
/// ```
///
/// They are settings so that a store of an earlier version needs no new table. They go with the job (`forgetChanges`).
extension JobStore {
  private static let kept = "changes/"
  private static let undone = "undone/"

  private static func prefix(_ key: JobKey) -> String { "\(kept)\(key)/" }

  /// The settings whose names begin with a text that ends in a slash, in the order of their names. By an index:
  /// "changes/17/" up to "changes/170", which is the first name behind them.
  private static func settings(_ prefix: String, limit: Int = 0) -> NSFetchRequest<PoolSetting> {
    let request = PoolSetting.fetchRequest()
    // "0" follows "/".
    let end = String(prefix.dropLast()) + "0"
    request.predicate = NSPredicate(format: "name >= %@ AND name < %@", prefix, end)
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    request.fetchLimit = limit
    return request
  }

  /// The saves of a job whose changes are kept, in their order.
  package static func saves(of key: JobKey, in context: NSManagedObjectContext) throws -> [JobSave] {
    try context.fetch(settings(prefix(key))).map { row in
      JobSave(text: row.value ?? "")
        // If it were left out, the job would be undone in part.
        ?? JobSave(attempt: 0, date: .distantPast, changes: [], omission: "the setting \(row.name) cannot be read")
    }
  }

  /// When the changes of a job were undone; nil if they were not.
  package static func undoneAt(_ key: JobKey, in context: NSManagedObjectContext) throws -> Date? {
    try PoolSetting.find("\(undone)\(key)", in: context)?.value.flatMap(Double.init)
      .map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// Notes that the changes of a job are undone, without saving. The save fails if another process has done so first.
  static func setUndone(_ key: JobKey, at date: Date, in context: NSManagedObjectContext) {
    let setting = PoolSetting(context: context)
    setting.name = "\(undone)\(key)"
    setting.value = "\(date.timeIntervalSinceReferenceDate)"
  }

  /// Adds a row for a save of a job, without saving and without its ``JobSave/text``, which becomes its value. What a
  /// person has undone is forgotten then: the next attempt begins anew.
  ///
  /// - Parameter number: the number of the save; nil for the one after the last.
  package static func addSave(_ number: Int?, of key: JobKey, in context: NSManagedObjectContext) throws -> PoolSetting
  {
    let number = try number ?? nextSave(of: key, in: context)
    let setting = PoolSetting(context: context)
    // Numbers of as many digits sort as texts do.
    setting.name = prefix(key) + String(repeating: "0", count: max(0, 8 - "\(number)".count)) + "\(number)"
    return setting
  }

  /// The number of the save that a row keeps.
  package static func saveNumber(_ row: PoolSetting) -> Int? { row.name.split(separator: "/").last.flatMap { Int($0) } }

  /// The number of the next save. Where a person has undone the earlier ones they are deleted first: the job was
  /// retried since, and only the changes of its new attempt can be undone now.
  private static func nextSave(of key: JobKey, in context: NSManagedObjectContext) throws -> Int {
    let rows = try context.fetch(settings(prefix(key)))
    if let mark = try PoolSetting.find("\(undone)\(key)", in: context) {
      for row in rows + [mark] { context.delete(row) }
    }
    // This save cannot insert a name that it deletes. The highest number counts, since earlier ones may be missing.
    return (rows.compactMap(saveNumber).max() ?? 0) + 1
  }

  /// Forgets what jobs that are deleted have changed, without saving.
  package static func forgetChanges(of jobs: [PoolJob], in context: NSManagedObjectContext) throws {
    // Most pools keep none.
    guard try !jobs.isEmpty && context.count(for: settings(kept, limit: 1)) > 0 else { return }
    for key in jobs.compactMap(\.objectID.key) {
      for row in try context.fetch(settings(prefix(key))) { context.delete(row) }
      if let mark = try PoolSetting.find("\(undone)\(key)", in: context) { context.delete(mark) }
    }
  }
}
