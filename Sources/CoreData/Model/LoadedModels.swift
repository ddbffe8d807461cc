internal import Synchronization

/// The models of coordinators, for code that needs a class's entity and has no context: `Person.entity()`.
///
/// `NSManagedObject.entity()` and requests by name have no context to ask, and a migration looks for the model of a
/// store among those in use. Models are held weakly; a list of entries is short, so it is searched from the end.
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

  /// The first result of the body that is not nil. Asks the models in use first, then those whose coordinators are
  /// gone; among each of them the newest first. Keeps only the model alive that it asks.
  ///
  /// The body runs outside of the lock, since it may ask for models itself. Tests and previews make a model for each
  /// case: the newest one is then the one that the code at hand means.
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
