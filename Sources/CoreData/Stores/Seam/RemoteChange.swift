/// Posts notifications about commits to a store.
extension NSPersistentStore {
  /// Observers run on this queue, so slow ones do not delay the notice of the next commit.
  private static let postingQueue = DispatchQueue(label: "NSPersistentStoreRemoteChange")

  /// Posts that the store changed.
  ///
  /// - Parameter number: the last transaction of the store's history; nil without a history.
  fileprivate final func postRemoteChange(_ number: Int64?) {
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

extension HistoryStore {
  /// Starts to post commits if the store's options ask for it.
  func startPostingRemoteChanges() throws {
    let isWanted = options?[NSPersistentStoreRemoteChangeNotificationPostOptionKey] as? NSNumber
    guard isWanted?.boolValue ?? false else { return }
    endCommitObservation = try observeCommits { [weak self] in self?.postRemoteChange($0) }
  }

  func stopPostingRemoteChanges() {
    endCommitObservation?()
    endCommitObservation = nil
  }
}

extension Notification.Name {
  /// Posted by a coordinator on any thread after a commit to a store that was opened with
  /// `NSPersistentStoreRemoteChangeNotificationPostOptionKey`: by this coordinator, another one, or another process.
  ///
  /// ```swift
  /// let changes = NotificationCenter.default.notifications(named: .NSPersistentStoreRemoteChange, object: coordinator)
  /// for await _ in changes {
  ///   await context.perform { context.refreshAllObjects() }
  /// }
  /// ```
  ///
  /// The user info has the store's UUID (`NSStoreUUIDKey`), its URL (`NSPersistentStoreURLKey`) and, with a history,
  /// the token of its end (`NSPersistentHistoryTokenKey`). One notification may stand for several quick commits, so
  /// read the history from the last token that was handled. Commits by another machine through a network file system
  /// are not noticed; those to a PostgreSQL store are, from every machine.
  public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
}

/// An NSNumber: whether the coordinator posts `NSPersistentStoreRemoteChange` for the store. Default: false.
///
/// ```swift
/// let description = NSPersistentStoreDescription(url: url)
/// description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
/// container.persistentStoreDescriptions = [description]
/// ```
///
/// It costs a thread for all files of the process, which sleeps until one of them is written, and a connection for each
/// file.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// The `NSPersistentHistoryToken` in the user info of `NSPersistentStoreRemoteChange`.
///
/// ```swift
/// let name = Notification.Name.NSPersistentStoreRemoteChange
/// for await note in NotificationCenter.default.notifications(named: name, object: coordinator) {
///   lastToken = note.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
/// }
/// ```
///
/// It is the end of the history, not the place of one change: a program that keeps it without reading what came before
/// skips that.
public let NSPersistentHistoryTokenKey = "historyToken"
