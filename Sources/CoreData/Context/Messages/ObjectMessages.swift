/// Messages with objects, from contexts on the main queue: what the notifications of the same names say, typed, and on
/// the main actor.
///
///     NotificationCenter.default.addObserver(of: context, for: .didSave) { message in show(message.inserted) }
///
/// Source: Apple's documentation of `NSManagedObjectContext.ObjectsDidChangeMessage` and its like.
extension NSManagedObjectContext {
  /// Posted before a context on the main queue saves.
  public struct WillSaveMessage: NotificationCenter.MainActorMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextWillSave }

    /// The context that posted the message.
    public let context: NSManagedObjectContext

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> WillSaveMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { WillSaveMessage(context: $0) }
    }

    /// The notification that says the same.
    @MainActor public static func makeNotification(_ message: WillSaveMessage) -> Notification {
      Notification(name: name, object: message.context)
    }
  }

  /// Posted after a context on the main queue saved.
  public struct DidSaveMessage: NotificationCenter.MainActorMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextDidSave }

    /// The context that posted the message.
    public let context: NSManagedObjectContext
    /// The place in the stores' histories after the save; nil where no store has a history, and for a save to a parent.
    public let historyToken: NSPersistentHistoryToken?
    /// What the context's reads see after the save; nil where that is not pinned, and in a context with a parent.
    public let queryGeneration: NSQueryGenerationToken?
    private let notification: Notification

    /// The new objects.
    public var inserted: Set<NSManagedObject> { notification.objects(.insertedObjects) }
    /// The changed objects.
    public var updated: Set<NSManagedObject> { notification.objects(.updatedObjects) }
    /// The deleted objects.
    public var deleted: Set<NSManagedObject> { notification.objects(.deletedObjects) }

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidSaveMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { context in
        DidSaveMessage(
          context: context, historyToken: context.savedHistoryToken, queryGeneration: context.savedGeneration,
          notification: notification)
      }
    }

    /// The notification that says the same.
    @MainActor public static func makeNotification(_ message: DidSaveMessage) -> Notification { message.notification }
  }

  /// Posted at the end of each event that changed objects of a context on the main queue.
  public struct ObjectsDidChangeMessage: NotificationCenter.MainActorMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextObjectsDidChange }

    /// The context that posted the message.
    public let context: NSManagedObjectContext
    private let notification: Notification

    /// The new objects.
    public var inserted: Set<NSManagedObject> { notification.objects(.insertedObjects) }
    /// The changed objects.
    public var updated: Set<NSManagedObject> { notification.objects(.updatedObjects) }
    /// The deleted objects.
    public var deleted: Set<NSManagedObject> { notification.objects(.deletedObjects) }
    /// The objects that were read anew.
    public var refreshed: Set<NSManagedObject> { notification.objects(.refreshedObjects) }
    /// The objects that became unusable.
    public var invalidated: Set<NSManagedObject> { notification.objects(.invalidatedObjects) }
    /// True after a reset of the context, nil otherwise.
    public var invalidatedAll: Bool? { notification.userInfo?[NSInvalidatedAllObjectsKey].map { _ in true } }

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> ObjectsDidChangeMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { context in
        ObjectsDidChangeMessage(context: context, notification: notification)
      }
    }

    /// The notification that says the same.
    @MainActor public static func makeNotification(_ message: ObjectsDidChangeMessage) -> Notification {
      message.notification
    }
  }
}
