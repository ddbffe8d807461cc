extension NSManagedObjectContext {
  /// Posts a notification about this context and its typed message. Foundation on Linux does not convert one to the
  /// other.
  ///
  /// The notification is posted first, on this thread and before the method returns. The message follows on the main
  /// actor for a main-queue context, and asynchronously for a private-queue context; a confinement context has no
  /// messages.
  final func post(_ name: Notification.Name, _ info: [AnyHashable: Any] = [:]) {
    let notification = Notification(name: name, object: self, userInfo: info.isEmpty ? nil : info)
    NotificationCenter.default.post(notification)
    switch concurrencyType {
    case .mainQueueConcurrencyType: postOnMainActor(notification)
    case .privateQueueConcurrencyType: postAsynchronously(notification)
    case .confinementConcurrencyType: break
    }
  }

  /// Posts the message on the main actor: now, or in the main queue's next turn if this thread is one that the main
  /// queue waits for.
  ///
  ///     main queue                          thread with the queue of a private context P
  ///     P.performAndWait: waits             waits for a context above, and lends P
  ///                                         runs the main queue's block, which saves a main-queue context:
  ///                                           not the main actor's thread, so the message is enqueued
  ///     goes on
  ///     the message arrives
  private func postOnMainActor(_ notification: Notification) {
    // `nonisolated(unsafe)`: this is the main queue, or the main queue waits for it, and only the main queue uses the
    // notification.
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
    // A thread that the main queue waits for is not the main actor's thread.
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

  /// Posts the messages that a private-queue context has: those with IDs, which may go to any thread.
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

  /// The present place in the stores' histories; nil in a context with a parent, and without a history. It costs a
  /// query for each store, so a save asks once.
  final var currentHistoryToken: NSPersistentHistoryToken? {
    parentContext == nil ? coordinator?.currentPersistentHistoryToken(fromStores: nil) : nil
  }

  /// The token of reads after a save, `current` unless a hook has read since; nil for a save to a parent, and without a
  /// pin.
  final var savedGeneration: NSQueryGenerationToken? { parentContext == nil ? queryGenerationToken : nil }
}

extension NSManagedObjectContext {
  /// The context that posted the notification, if both name and kind match; nil otherwise. A message of the other kind
  /// would pass its objects to the wrong queue.
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
  /// The place in the stores' histories that a save or a merge tells.
  var historyToken: NSPersistentHistoryToken? { userInfo?[UserInfoKey.historyToken] as? NSPersistentHistoryToken }

  func objects(_ key: NSManagedObjectContext.NotificationKey) -> Set<NSManagedObject> {
    userInfo?[key.rawValue] as? Set<NSManagedObject> ?? []
  }

  func objectIDs(_ key: NSManagedObjectContext.NotificationKey) -> Set<NSManagedObjectID> {
    userInfo?[key.rawValue] as? Set<NSManagedObjectID> ?? []
  }
}
