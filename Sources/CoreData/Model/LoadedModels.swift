internal import Synchronization

/// The models in use by coordinators, for code that needs a class's entity and has no context: `Person.entity()`.
enum LoadedModels {
  /// `@unchecked Sendable`: the reference is set once, and reading a weak reference is atomic.
  private struct Reference: @unchecked Sendable { weak var model: NSManagedObjectModel? }

  private static let references = Mutex<[Reference]>([])

  static func add(_ model: NSManagedObjectModel) {
    references.withLock { references in
      references.removeAll { $0.model == nil }
      if !references.contains(where: { $0.model === model }) { references.append(Reference(model: model)) }
    }
  }

  /// The first result of the body that is not nil, asking the newest model first. Keeps only the model alive that it
  /// asks.
  static func newest<Found>(_ body: (NSManagedObjectModel) throws -> Found?) rethrows -> Found? {
    for reference in references.withLock({ $0 }).reversed() {
      if let model = reference.model, let match = try body(model) { return match }
    }
    return nil
  }
}
