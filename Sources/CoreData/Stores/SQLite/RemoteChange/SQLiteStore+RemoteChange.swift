/// Posting that somebody has committed to the store's file.
extension SQLiteStore {
  func startPostingRemoteChanges() throws {
    let isWanted = options?[NSPersistentStoreRemoteChangeNotificationPostOptionKey] as? NSNumber
    guard isWanted?.boolValue ?? false else { return }
    if database.configuration.isInMemory {
      database.observeCommits(self) { [weak self] in self?.postRemoteChange($0) }
    } else {
      commits = try CommitWatcher.shared.watch(database.configuration.path) { [weak self] in self?.postRemoteChange($0)
      }
    }
  }

  func stopPostingRemoteChanges() {
    commits?.cancel()
    commits = nil
    database.stopObservingCommits(self)
  }

  /// Observers run on a queue of their own: however slow they are, the next commit is noticed.
  private static let postingQueue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  private func postRemoteChange(_ connection: SQLiteConnection) {
    let number = history == nil ? nil : try? HistoryReader.lastNumber(schema, connection)
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
