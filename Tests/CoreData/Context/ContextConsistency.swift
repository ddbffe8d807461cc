import Testing

@testable import CoreData

extension NSManagedObjectContext {
  /// Whether each object is registered under its ID, and in the one list of changes that its flags name.
  var isConsistent: Bool {
    graph.all.allSatisfy { object in
      graph.find(object.objectID) === object && graph.owns(object)
        && object.isInserted == changes.inserted.contains(object)
        && object.isUpdated == changes.updated.contains(object)
        // Of a new object that was deleted, nothing is to be saved.
        && (object.isDeleted || !changes.deleted.contains(object))
    } && changes.toSave.all.allSatisfy { graph.find($0.objectID) === $0 }
  }
}
