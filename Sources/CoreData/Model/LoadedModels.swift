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
}
