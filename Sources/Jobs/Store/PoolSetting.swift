import CoreData

/// Settings of a store: a name, which is unique, and a text. Two processes that make the same setting at once conflict
/// (133021), and two that change it as well (133020).
///
/// ```text
/// version                     the version of the pool's tables        paused, pausedQueues, …    JobPauses
/// owner, owner POOL           PoolOwner                               hooks                      JobHook
/// history.60.3                JobStore+History                        redacted                   Redaction
/// changes/17/00000001         JobStore+Changes                        undone/17                  JobUndo
/// ```
extension PoolSetting {
  /// The name of the entity.
  public static let entityName = "PoolSetting"

  /// The setting with this name, if there is one.
  static func find(_ name: String, in context: NSManagedObjectContext) throws -> PoolSetting? {
    let request = fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  /// Gives the setting with this name a value, without saving.
  static func set(_ name: String, _ value: String, in context: NSManagedObjectContext) throws {
    let setting = try find(name, in: context) ?? PoolSetting(context: context)
    setting.name = name
    setting.value = value
  }
}
