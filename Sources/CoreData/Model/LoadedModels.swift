internal import Synchronization

/// The models that coordinators use: where a class finds its entity without a context.
enum LoadedModels {
  /// `@unchecked Sendable`: reading a weak reference is atomic, and it is set once.
  private struct Reference: @unchecked Sendable { weak var model: NSManagedObjectModel? }

  private static let references = Mutex<[Reference]>([])

  static func add(_ model: NSManagedObjectModel) {
    references.withLock { references in
      references.removeAll { $0.model == nil }
      if !references.contains(where: { $0.model === model }) { references.append(Reference(model: model)) }
    }
  }

  /// The newest last.
  static var all: [NSManagedObjectModel] { references.withLock { $0.compactMap(\.model) } }

  /// The only entity whose objects are of this class, or, where models share it, the one of the newest model.
  static func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    for model in all.reversed() {
      if let entity = model.entity(for: type) { return entity }
    }
    return nil
  }
}

extension NSManagedObjectModel {
  /// The entity whose objects are of exactly this class; nil where none or several are.
  func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    guard type != NSManagedObject.self else { return nil }
    let matches = entities.filter { $0.layout.objectClass == type }
    if let match = matches.first, matches.count == 1 { return match }
    let name = NSStringFromClass(type)
    let short = name.split(separator: ".").last.map(String.init) ?? name
    return matches.first { $0.name == short }
      ?? entities.first { $0.managedObjectClassName == short || $0.managedObjectClassName == name }
  }
}
