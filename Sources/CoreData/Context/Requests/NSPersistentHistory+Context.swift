/// The members of the history's classes that need contexts. The rest of these classes is in a folder below contexts.
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
  ///
  /// This is how a program shows what other processes have saved. Merge the transactions in their order, and keep the
  /// token of the last one. The notification is not posted; passing it on is the caller's work. It may be made on any
  /// thread, and merged on the context's queue.
  ///
  /// - Returns: a notification with the name `NSManagedObjectContextDidSaveObjectIDs` and without an object.
  ///
  /// Source: Apple's documentation of `objectIDNotification()`.
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

  /// The entity that a fetch request for history asks for: the transactions, with their properties `author`,
  /// `timestamp` and so on, for predicates.
  ///
  /// ```swift
  /// let fetch = NSFetchRequest<any NSFetchRequestResult>()
  /// fetch.entity = NSPersistentHistoryTransaction.entityDescription(with: context)
  /// fetch.predicate = NSPredicate(format: "author == %@", "import")
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
  /// print(try context.execute(request) as? NSPersistentHistoryResult as Any)
  /// ```
  ///
  /// It belongs to no model of the program. `NSPersistentHistoryTransaction.fetchRequest` gives a request that has it
  /// already.
  ///
  /// - Parameter context: any context; all have the same entity.
  /// - Returns: never nil.
  ///
  /// Source: Apple's documentation of `entityDescription(with:)`.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.transaction
  }
}

extension NSPersistentHistoryChange {
  /// The entity that a fetch request for history asks for: the changes, with their properties `changedObjectID`,
  /// `changeType` and so on, for predicates.
  ///
  /// `NSPersistentHistoryChange.fetchRequest` gives a request that has it already. A request for changes answers with
  /// the transactions that contain matching ones, each with these changes only.
  ///
  /// - Parameter context: any context; all have the same entity.
  /// - Returns: never nil.
  ///
  /// Source: Apple's documentation of `entityDescription(with:)`.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    HistoryEntities.change
  }
}
