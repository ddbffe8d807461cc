/// Handles faults that cannot be filled, since reading a property cannot throw.
extension NSManagedObjectContext {
  /// Gives an object without a readable row nil values, or ends the process.
  ///
  ///     the row is missing     another process deleted it: the object becomes a deleted one with nil values
  ///     the row is unreadable  the disk fails, the server is gone: the process ends, or, if an override says so,
  ///                            the object reads as nil, and the next save throws the error
  ///
  /// In the second case the object must not look deleted: the next save would delete a row that is only out of reach.
  ///
  /// - Parameter error: the reason why the row could not be read; nil if there is no row.
  final func fillInaccessible(_ object: NSManagedObject, _ error: (any Error)?) {
    let id = object.objectID
    guard isHandled(object, error, triggeredBy: nil) else {
      fatalError("Core Data could not fulfill a fault for \(id): \(error.map { "\($0)" } ?? "it has no row.")")
    }
    object.snapshot = Snapshot.make(object.layout)
    object.state.remove(.fault)
    // A row that may exist must be neither deleted nor overwritten with values that were not read.
    guard error == nil else { return }
    object.state.insert(.gone)
    if !object.isDeleted && graph.find(object.objectID) === object { changes.deleteMissing(object) }
  }

  /// Whether a relationship that cannot be read counts as empty; otherwise the process ends.
  final func handleInaccessible(
    _ object: NSManagedObject, _ relationship: NSRelationshipDescription, _ error: any Error
  ) {
    guard isHandled(object, error, triggeredBy: relationship) else {
      fatalError("Core Data could not read \(relationship.name) of \(object.objectID): \(error)")
    }
  }

  /// Asks the context's method, which a program may override, and remembers an error that it let pass.
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

/// A context's state about faults that cannot be filled.
struct InaccessibleFaults {
  /// The reason why the fault in question cannot be filled; nil for a missing row.
  var current: (any Error)?
  /// The error that made an object read as nil. Saving changes based on it would be wrong.
  var unread: (any Error)?
}
