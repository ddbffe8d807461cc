import CoreData

/// What jobs changed, for kinds whose changes the pool keeps: a setting of the pool's for each save, written by that
/// save, and one that says that a person has undone them.
extension JobStore {
  private static let kept = "changes/"
  private static let undone = "undone/"

  private static func prefix(_ key: JobKey) -> String { "\(kept)\(key)/" }

  /// The settings whose names begin with a text that ends in a slash, in the order of their names. By an index.
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
    try context.fetch(settings(prefix(key))).compactMap { $0.value.flatMap(JobSave.init(text:)) }
  }

  /// When the changes of a job were undone; nil if they were not.
  package static func undoneAt(_ key: JobKey, in context: NSManagedObjectContext) throws -> Date? {
    try PoolSetting.find("\(undone)\(key)", in: context)?.value.flatMap(Double.init)
      .map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// Notes that the changes of a job are undone, without saving. The save fails if somebody else has done so first.
  static func setUndone(_ key: JobKey, at date: Date, in context: NSManagedObjectContext) {
    let setting = PoolSetting(context: context)
    setting.name = "\(undone)\(key)"
    setting.value = "\(date.timeIntervalSinceReferenceDate)"
  }

  /// The number of the next save of a job. What a person has undone is forgotten then: the next attempt begins anew.
  package static func nextSave(of key: JobKey, in context: NSManagedObjectContext) throws -> Int {
    let rows = try context.fetch(settings(prefix(key)))
    guard let mark = try PoolSetting.find("\(undone)\(key)", in: context) else { return rows.count + 1 }
    for row in rows + [mark] { context.delete(row) }
    return rows.count + 1
  }

  /// Keeps the changes of a save in the same transaction, without saving. Called again before the save, with the row
  /// of the call before, it keeps the later changes.
  ///
  /// - Parameter number: that of the save, from 1.
  package static func keep(
    _ save: JobSave, number: Int, of key: JobKey, in row: PoolSetting?, _ context: NSManagedObjectContext
  ) -> PoolSetting {
    let setting = row ?? PoolSetting(context: context)
    // Numbers of as many digits sort as texts do.
    setting.name = prefix(key) + String(repeating: "0", count: max(0, 8 - "\(number)".count)) + "\(number)"
    setting.value = save.text
    return setting
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
