extension NSManagedObjectContext {
  /// Posted after a context on the main queue merged what was saved elsewhere: the IDs of what that was about.
  public struct DidMergeChangesMessage: NotificationCenter.MainActorMessage {
    public typealias Subject = NSManagedObjectContext
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }

    public let context: NSManagedObjectContext
    public let insertedIDs: Set<NSManagedObjectID>
    public let updatedIDs: Set<NSManagedObjectID>
    public let deletedIDs: Set<NSManagedObjectID>
    public let refreshedIDs: Set<NSManagedObjectID>
    public let invalidatedIDs: Set<NSManagedObjectID>
    /// The place in the stores' histories then; nil where no store has a history, and in a context with a parent.
    public let historyToken: NSPersistentHistoryToken?
    /// What the context's reads see then; nil where that is not pinned, and in a context with a parent.
    public let queryGeneration: NSQueryGenerationToken?

    private init(_ context: NSManagedObjectContext, _ notification: Notification) {
      self.context = context
      insertedIDs = notification.objectIDs(.insertedObjectIDs)
      updatedIDs = notification.objectIDs(.updatedObjectIDs)
      deletedIDs = notification.objectIDs(.deletedObjectIDs)
      refreshedIDs = notification.objectIDs(.refreshedObjectIDs)
      invalidatedIDs = notification.objectIDs(.invalidatedObjectIDs)
      historyToken = context.savedHistoryToken
      queryGeneration = context.savedGeneration
    }

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidMergeChangesMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { DidMergeChangesMessage($0, notification) }
    }

    @MainActor public static func makeNotification(_ message: DidMergeChangesMessage) -> Notification {
      Notification(name: name, object: message.context, userInfo: info(message.idLists))
    }

    private var idLists: [(NotificationKey, Set<NSManagedObjectID>)] {
      [
        (.insertedObjectIDs, insertedIDs), (.updatedObjectIDs, updatedIDs), (.deletedObjectIDs, deletedIDs),
        (.refreshedObjectIDs, refreshedIDs), (.invalidatedObjectIDs, invalidatedIDs),
      ]
    }
  }

  /// Posted after a context on a queue of its own merged what was saved elsewhere: the IDs of what that was about.
  public struct DidMergeChangesAsyncMessage: NotificationCenter.AsyncMessage {
    public typealias Subject = NSManagedObjectContext
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }

    public let context: NSManagedObjectContext
    public let insertedIDs: Set<NSManagedObjectID>
    public let updatedIDs: Set<NSManagedObjectID>
    public let deletedIDs: Set<NSManagedObjectID>
    public let refreshedIDs: Set<NSManagedObjectID>
    public let invalidatedIDs: Set<NSManagedObjectID>
    /// The place in the stores' histories then; nil where no store has a history, and in a context with a parent.
    public let historyToken: NSPersistentHistoryToken?
    /// What the context's reads see then; nil where that is not pinned, and in a context with a parent.
    public let queryGeneration: NSQueryGenerationToken?

    private init(_ context: NSManagedObjectContext, _ notification: Notification) {
      self.context = context
      insertedIDs = notification.objectIDs(.insertedObjectIDs)
      updatedIDs = notification.objectIDs(.updatedObjectIDs)
      deletedIDs = notification.objectIDs(.deletedObjectIDs)
      refreshedIDs = notification.objectIDs(.refreshedObjectIDs)
      invalidatedIDs = notification.objectIDs(.invalidatedObjectIDs)
      historyToken = context.savedHistoryToken
      queryGeneration = context.savedGeneration
    }

    /// nil for a notification of another name, or from a context on another queue. Call it on the context's queue.
    public static func makeMessage(_ notification: Notification) -> DidMergeChangesAsyncMessage? {
      sender(of: notification, name, .privateQueueConcurrencyType).map { DidMergeChangesAsyncMessage($0, notification) }
    }

    public static func makeNotification(_ message: DidMergeChangesAsyncMessage) -> Notification {
      Notification(name: name, object: message.context, userInfo: info(message.idLists))
    }

    private var idLists: [(NotificationKey, Set<NSManagedObjectID>)] {
      [
        (.insertedObjectIDs, insertedIDs), (.updatedObjectIDs, updatedIDs), (.deletedObjectIDs, deletedIDs),
        (.refreshedObjectIDs, refreshedIDs), (.invalidatedObjectIDs, invalidatedIDs),
      ]
    }
  }
}
