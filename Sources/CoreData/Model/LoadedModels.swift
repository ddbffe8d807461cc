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

  /// What the body finds in a model, which is asked of the newest first. Keeps no model but the one that is being asked.
  static func newest<Found>(_ body: (NSManagedObjectModel) throws -> Found?) rethrows -> Found? {
    for reference in references.withLock({ $0 }).reversed() {
      if let model = reference.model, let found = try body(model) { return found }
    }
    return nil
  }
}
