extension LoadedModels {
  /// The entity with this class; if several models have one, that of the newest model in use.
  ///
  /// For `Book.entity()`, `Book.fetchRequest()` and requests by `#Predicate`, which know no context. A context asks its
  /// own model.
  static func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    newest { $0.entity(for: type) }
  }
}

extension NSManagedObjectModel {
  /// The entity with exactly this class; nil if none or several have it.
  ///
  /// First the entities whose class this is; of several, the one with the class's name. Else one that names the class
  /// by text, although the look-up of that name led elsewhere: an ambiguous name gives `NSManagedObject`.
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
