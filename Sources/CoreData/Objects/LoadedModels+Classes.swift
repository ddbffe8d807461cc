extension LoadedModels {
  /// The entity with this class; if several models have one, that of the newest model in use.
  static func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    newest { $0.entity(for: type) }
  }
}

extension NSManagedObjectModel {
  /// The entity with exactly this class; nil if none or several have it.
  func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    guard type != NSManagedObject.self else { return nil }
    let matches = entities.filter { $0.layout.objectClass == type }
    if let match = matches.first, matches.count == 1 { return match }
    let name = String(reflecting: type)
    let short = name.split(separator: ".").last.map(String.init) ?? name
    return matches.first { $0.name == short }
      ?? entities.first { $0.managedObjectClassName == short || $0.managedObjectClassName == name }
  }
}
