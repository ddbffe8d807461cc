/// Messages with objects of main-queue contexts: the typed form of the notifications of the same names, delivered on
/// the main actor.
///
/// ```swift
/// @MainActor func watch(_ context: NSManagedObjectContext) -> NotificationCenter.ObservationToken {
///   NotificationCenter.default.addObserver(of: context, for: .didSave) { message in
///     print(message.inserted.count, "new objects")
///   }
/// }
/// ```
///
/// Source: Apple's documentation of `NSManagedObjectContext.ObjectsDidChangeMessage` and its like.
extension NSManagedObjectContext {
  /// Posted before a main-queue context saves.
  ///
  /// ```swift
  /// @MainActor func stamp(_ context: NSManagedObjectContext) -> NotificationCenter.ObservationToken {
  ///   NotificationCenter.default.addObserver(of: context, for: .willSave) { message in
  ///     for case let book as Book in message.context.insertedObjects { book.title = book.title ?? "Untitled" }
  ///   }
  /// }
  /// ```
  ///
  /// It is delivered on the main actor, before `willSave()` of the objects: changes that the observer makes are saved
  /// too. If the main queue waits for the thread that saves, it arrives after the save.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.WillSaveMessage`.
  public struct WillSaveMessage: NotificationCenter.MainActorMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextWillSave }

    /// The context that posted the message.
    public let context: NSManagedObjectContext

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> WillSaveMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { WillSaveMessage(context: $0) }
    }

    /// The notification with the same content.
    @MainActor public static func makeNotification(_ message: WillSaveMessage) -> Notification {
      Notification(name: name, object: message.context)
    }
  }

  /// Posted after a main-queue context saved.
  ///
  /// It is delivered on the main actor, during the save, with sets that are empty if nothing changed. The objects are
  /// for the main actor; pass IDs on.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.DidSaveMessage`.
  public struct DidSaveMessage: NotificationCenter.MainActorMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextDidSave }

    /// The context that posted the message.
    public let context: NSManagedObjectContext
    /// The place in the stores' histories after the save; nil if no store has a history, and for a save to a parent.
    /// Earlier saves of other contexts and processes are before the place too.
    public let historyToken: NSPersistentHistoryToken?
    /// The context's `queryGenerationToken` after the save: mostly `current`, since a save ends the pin. Nil without a
    /// pin, and in a context with a parent.
    public let queryGeneration: NSQueryGenerationToken?
    private let notification: Notification

    /// The new objects, saved now. Use them on the main actor only.
    public var inserted: Set<NSManagedObject> { notification.objects(.insertedObjects) }
    /// The objects whose changes are saved now, without new and deleted ones. Use them on the main actor only.
    public var updated: Set<NSManagedObject> { notification.objects(.updatedObjects) }
    /// The objects whose rows are deleted now. They belong to no context any more; values that were read stay readable.
    public var deleted: Set<NSManagedObject> { notification.objects(.deletedObjects) }

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidSaveMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { context in
        DidSaveMessage(
          context: context, historyToken: notification.historyToken, queryGeneration: context.savedGeneration,
          notification: notification)
      }
    }

    /// The notification with the same content.
    @MainActor public static func makeNotification(_ message: DidSaveMessage) -> Notification { message.notification }
  }

  /// Posted at the end of each event that changed objects of a main-queue context.
  ///
  /// ```swift
  /// @MainActor func redraw(_ context: NSManagedObjectContext) -> NotificationCenter.ObservationToken {
  ///   NotificationCenter.default.addObserver(of: context, for: .objectsDidChange) { message in
  ///     print(message.updated.union(message.refreshed).count, "objects to draw again")
  ///   }
  /// }
  /// ```
  ///
  /// Updated objects were changed by code of this context, refreshed ones by a refresh or a merge: a user interface
  /// treats both alike. It is delivered on the main actor, when the event ends.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.ObjectsDidChangeMessage`.
  public struct ObjectsDidChangeMessage: NotificationCenter.MainActorMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextObjectsDidChange }

    /// The context that posted the message.
    public let context: NSManagedObjectContext
    private let notification: Notification

    /// The objects that are new since the last message, unsaved or merged from another save.
    public var inserted: Set<NSManagedObject> { notification.objects(.insertedObjects) }
    /// The objects that code has changed since the last message.
    public var updated: Set<NSManagedObject> { notification.objects(.updatedObjects) }
    /// The objects that were deleted since the last message, here or by another save.
    public var deleted: Set<NSManagedObject> { notification.objects(.deletedObjects) }
    /// The objects whose values a refresh or a merge replaced.
    public var refreshed: Set<NSManagedObject> { notification.objects(.refreshedObjects) }
    /// The objects that became unusable, which only Apple's framework reports one by one; always empty here. See
    /// `invalidatedAll`.
    public var invalidated: Set<NSManagedObject> { notification.objects(.invalidatedObjects) }
    /// True after a reset of the context, nil otherwise. All objects are unusable then: fetch again.
    public var invalidatedAll: Bool? { notification.userInfo?[NSInvalidatedAllObjectsKey].map { _ in true } }

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> ObjectsDidChangeMessage? {
      sender(of: notification, name, .mainQueueConcurrencyType).map { context in
        ObjectsDidChangeMessage(context: context, notification: notification)
      }
    }

    /// The notification with the same content.
    @MainActor public static func makeNotification(_ message: ObjectsDidChangeMessage) -> Notification {
      message.notification
    }
  }
}
