extension NSManagedObjectContext {
  /// Posts a notification about this context, and the typed message that stands for it: on Linux, Foundation does not
  /// make one of the other.
  final func post(_ name: Notification.Name, _ info: [AnyHashable: Any] = [:]) {
    let notification = Notification(name: name, object: self, userInfo: info.isEmpty ? nil : info)
    NotificationCenter.default.post(notification)
    switch concurrencyType {
    case .mainQueueConcurrencyType: postOnMainActor(notification)
    case .privateQueueConcurrencyType: postAsynchronously(notification)
    case .confinementConcurrencyType: break
    }
  }

  private func postOnMainActor(_ notification: Notification) {
    // Safe: this is the main queue, or it waits for this; the notification is used there alone.
    nonisolated(unsafe) let notification = notification
    let post: @MainActor () -> Void = {
      switch notification.name {
      case WillSaveMessage.name: self.post(WillSaveMessage.makeMessage(notification))
      case DidSaveMessage.name: self.post(DidSaveMessage.makeMessage(notification))
      case DidSaveObjectIDsMessage.name: self.post(DidSaveObjectIDsMessage.makeMessage(notification))
      case ObjectsDidChangeMessage.name: self.post(ObjectsDidChangeMessage.makeMessage(notification))
      case DidMergeChangesMessage.name: self.post(DidMergeChangesMessage.makeMessage(notification))
      default: break
      }
    }
    // A thread that the main queue waits for is not the main actor's.
    if PerformScope.isMainQueueItself {
      MainActor.assumeIsolated(post)
    } else {
      DispatchQueue.main.async(execute: post)
    }
  }

  @MainActor private func post<Message: NotificationCenter.MainActorMessage>(_ message: Message?)
  where Message.Subject == NSManagedObjectContext {
    if let message { NotificationCenter.default.post(message, subject: self) }
  }

  private func postAsynchronously(_ notification: Notification) {
    switch notification.name {
    case DidSaveObjectIDsAsyncMessage.name:
      guard let message = DidSaveObjectIDsAsyncMessage.makeMessage(notification) else { return }
      NotificationCenter.default.post(message, subject: self)
    case DidMergeChangesAsyncMessage.name:
      guard let message = DidMergeChangesAsyncMessage.makeMessage(notification) else { return }
      NotificationCenter.default.post(message, subject: self)
    default: break
    }
  }

  /// The place in the stores' histories after a save; nil where the save went to a parent, or no store has a history.
  final var savedHistoryToken: NSPersistentHistoryToken? {
    parentContext == nil ? coordinator?.currentPersistentHistoryToken(fromStores: nil) : nil
  }

  /// What reads see after a save; nil where the save went to a parent, or nothing is pinned.
  final var savedGeneration: NSQueryGenerationToken? { parentContext == nil ? queryGenerationToken : nil }
}

extension NSManagedObjectContext {
  /// The context of a notification of that name and from a context of that kind; nil for any other.
  static func sender(
    of notification: Notification, _ name: Notification.Name, _ kind: NSManagedObjectContextConcurrencyType
  ) -> NSManagedObjectContext? {
    guard notification.name == name, let context = notification.object as? NSManagedObjectContext,
      context.concurrencyType == kind
    else { return nil }
    return context
  }
}

extension Notification {
  func objects(_ key: NSManagedObjectContext.NotificationKey) -> Set<NSManagedObject> {
    userInfo?[key.rawValue] as? Set<NSManagedObject> ?? []
  }

  func objectIDs(_ key: NSManagedObjectContext.NotificationKey) -> Set<NSManagedObjectID> {
    userInfo?[key.rawValue] as? Set<NSManagedObjectID> ?? []
  }
}
