import CoreData

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
