internal import Synchronization

/// The models of coordinators, for code that has no context to ask: `Person.entity()`, a request by an entity's name,
/// and a migration that looks for the model of a store.
///
/// Models are held weakly. The list is short, so it is searched linearly, from the end.
///
/// ```text
/// coordinator 1 opens with model A      add(A)      [A x1]
/// coordinator 2 opens with model A      add(A)      [A x2]
/// both are freed                        remove x2   [A x0]    still found if nothing newer fits
/// the program drops A                               [nil]     removed with the next add
/// ```
enum LoadedModels {
  /// `@unchecked Sendable`: the reference is set once, and reading a weak reference is atomic. The number is changed in
  /// the mutex only.
  private struct Reference: @unchecked Sendable {
    weak var model: NSManagedObjectModel?
    /// The number of coordinators that exist and have the model.
    var coordinators: Int
  }

  private static let references = Mutex<[Reference]>([])

  /// Called by a new coordinator of the model.
  ///
  /// The model is immutable by then: the coordinator has frozen it.
  static func add(_ model: NSManagedObjectModel) {
    references.withLock { references in
      references.removeAll { $0.model == nil }
      if let index = references.firstIndex(where: { $0.model === model }) {
        references[index].coordinators += 1
      } else {
        references.append(Reference(model: model, coordinators: 1))
      }
    }
  }

  /// Called when a coordinator of the model goes away.
  static func remove(_ model: NSManagedObjectModel) {
    references.withLock { references in
      guard let index = references.firstIndex(where: { $0.model === model }) else { return }
      references[index].coordinators -= 1
    }
  }

  /// The first result of the body that is not nil. It is called with the models in use, then with those whose
  /// coordinators are gone, the newest first in both cases.
  ///
  /// The body runs outside of the lock, since it may call `newest` itself. Tests and previews make a model for each
  /// case: the newest one is then the one that the running case uses.
  static func newest<Found>(_ body: (NSManagedObjectModel) throws -> Found?) rethrows -> Found? {
    let references = references.withLock { $0 }
    for isInUse in [true, false] {
      for reference in references.reversed() where (reference.coordinators > 0) == isInUse {
        if let model = reference.model, let match = try body(model) { return match }
      }
    }
    return nil
  }
}
