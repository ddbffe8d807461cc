/// The members of history that concern contexts.
extension NSPersistentHistoryTransaction {
  /// The changes as a notification for `NSManagedObjectContext.mergeChanges(fromContextDidSave:)`: sets of object IDs.
  /// Empty if the transaction was fetched without its changes.
  ///
  /// ```swift
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  /// let result = try context.execute(request) as? NSPersistentHistoryResult
  /// for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] where transaction.author != "me" {
  ///   context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
  /// }
  /// ```
  public func objectIDNotification() -> Notification {
    var ids: [AnyHashable: Any] = [:]
    for (type, key) in [
      (NSPersistentHistoryChangeType.insert, NSInsertedObjectIDsKey), (.update, NSUpdatedObjectIDsKey),
      (.delete, NSDeletedObjectIDsKey),
    ] {
      let changed = Set((changes ?? []).lazy.filter { $0.changeType == type }.map(\.changedObjectID))
      if !changed.isEmpty { ids[key] = changed }
    }
    return Notification(name: .NSManagedObjectContextDidSaveObjectIDs, object: nil, userInfo: ids)
  }

  /// The entity that a fetch request for history asks for.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.transaction
  }
}

extension NSPersistentHistoryChange {
  /// The entity that a fetch request for history asks for.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.change
  }
}
