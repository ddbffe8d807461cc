/// Faults that cannot be filled: reading a property cannot throw.
extension NSManagedObjectContext {
  /// Gives an object whose row could not be had values of nil, or ends the process.
  final func fillInaccessible(_ object: NSManagedObject, _ error: (any Error)?) {
    let id = object.objectID
    guard isHandled(object, error, triggeredBy: nil) else {
      fatalError("Core Data could not fulfill a fault for \(id): \(error.map { "\($0)" } ?? "it has no row.")")
    }
    object.snapshot = Snapshot.make(object.layout)
    object.state.remove(.fault)
    // A row that may be there must be neither deleted nor overwritten with what was not read.
    guard error == nil else { return }
    object.state.insert(.gone)
    if !object.isDeleted && graph.find(object.objectID) === object { changes.deleteMissing(object) }
  }

  /// Whether a relationship that could not be read counts as empty; else the process ends.
  final func handleInaccessible(
    _ object: NSManagedObject, _ relationship: NSRelationshipDescription, _ error: any Error
  ) {
    guard isHandled(object, error, triggeredBy: relationship) else {
      fatalError("Core Data could not read \(relationship.name) of \(object.objectID): \(error)")
    }
  }

  private func isHandled(
    _ object: NSManagedObject, _ error: (any Error)?, triggeredBy property: NSPropertyDescription?
  ) -> Bool {
    inaccessible.current = error
    defer { inaccessible.current = nil }
    guard shouldHandleInaccessibleFault(object, for: object.objectID, triggeredByProperty: property) else {
      return false
    }
    if inaccessible.unread == nil { inaccessible.unread = error }
    return true
  }
}

/// What a context knows of faults that cannot be filled.
struct InaccessibleFaults {
  /// Why the fault cannot be filled that is being decided about; nil where its row is missing.
  var current: (any Error)?
  /// What an object that reads as nil could not be read for: a save of what follows from that would be wrong.
  var unread: (any Error)?
}
