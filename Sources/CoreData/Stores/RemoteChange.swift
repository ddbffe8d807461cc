/// Posting that somebody has committed to a store.
extension NSPersistentStore {
  /// Observers run on a queue of their own: however slow they are, the next commit is noticed.
  private static let postingQueue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  /// Posts that there is something new in the store.
  ///
  /// - Parameter number: the last transaction of the store's history; nil without history.
  final func postRemoteChange(_ number: Int64?) {
    let token = number.map { NSPersistentHistoryToken([identifier: $0]) }
    Self.postingQueue.async { [weak self] in
      guard let self, let coordinator = self.persistentStoreCoordinator else { return }
      var info: [AnyHashable: Any] = [NSStoreUUIDKey: self.identifier ?? ""]
      info[NSPersistentStoreURLKey] = self.url
      info[NSPersistentHistoryTokenKey] = token
      NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: coordinator, userInfo: info)
    }
  }
}

extension Notification.Name {
  /// Posted by a coordinator, on any thread, after somebody has written to a store that was opened with
  /// `NSPersistentStoreRemoteChangeNotificationPostOptionKey`: this coordinator, another one, or another process.
  ///
  /// The user info has the store's UUID, its URL, and, where it keeps a history, the token of its end. Several writes in quick
  /// succession may be told of once. Writes by another machine, through a network file system, are not noticed.
  public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
}

/// Whether the coordinator posts `NSPersistentStoreRemoteChange` for the store: an NSNumber.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// The key of the token in a remote-change notification.
public let NSPersistentHistoryTokenKey = "historyToken"
