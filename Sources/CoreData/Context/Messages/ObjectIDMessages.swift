/// A message with object IDs. Those of main-queue contexts are delivered on the main actor, those of private-queue
/// contexts asynchronously.
///
/// ```swift
/// for await message in NotificationCenter.default.messages(of: context, for: .didSaveObjectIDsAsync) {
///   print(message.insertedIDs.count, "new")
/// }
/// ```
///
/// Four messages conform to it: after a save and after a merge, each for both kinds of contexts. Programs use those;
/// the protocol only gives them their common properties. IDs may be kept and passed to other queues, so use these
/// messages in code that is not on the context's queue; `DidSaveMessage` has the objects, for code on the main actor.
///
/// Source: Apple's documentation of `NSManagedObjectContext.DidSaveObjectIDsMessage` and its like.
public protocol ManagedObjectIDsMessage {
  /// The values of the message, which the properties below give one by one.
  var content: NSManagedObjectContext.ObjectIDsMessageContent { get }
}

extension ManagedObjectIDsMessage {
  /// The context that posted the message. Use it on its queue only.
  public var context: NSManagedObjectContext { content.context }
  /// The IDs of the save's new objects, permanent unless the context has a parent.
  public var insertedIDs: Set<NSManagedObjectID> { content.ids(.insertedObjectIDs) }
  /// The IDs of the objects whose rows the save changed. For a merge: of the save that was merged, whether or not this
  /// context has the objects.
  public var updatedIDs: Set<NSManagedObjectID> { content.ids(.updatedObjectIDs) }
  /// The IDs of the objects whose rows the save deleted.
  public var deletedIDs: Set<NSManagedObjectID> { content.ids(.deletedObjectIDs) }
  /// The IDs of the objects that the merge gave new values; empty after a save.
  public var refreshedIDs: Set<NSManagedObjectID> { content.ids(.refreshedObjectIDs) }
  /// The IDs of the invalidated objects, which only Apple's framework reports; always empty here.
  public var invalidatedIDs: Set<NSManagedObjectID> { content.ids(.invalidatedObjectIDs) }
  /// The place in the stores' histories after the save, which the notification has under `newChangeToken`; nil if no
  /// store has a history, and in a context with a parent.
  ///
  /// ```swift
  /// for await message in NotificationCenter.default.messages(of: context, for: .didSaveObjectIDsAsync) {
  ///   lastToken = message.historyToken ?? lastToken  // right only where no other context and process saves
  /// }
  /// ```
  ///
  /// Earlier saves of other contexts and processes are before the place as well. A program that follows those fetches
  /// the history after its own token, and keeps the token of the last transaction that it has handled.
  public var historyToken: NSPersistentHistoryToken? { content.historyToken }
  /// The context's `queryGenerationToken` when the message was posted: mostly `current`, since a save or a merge ends
  /// the pin. Nil without a pin, and in a context with a parent.
  public var queryGeneration: NSQueryGenerationToken? { content.queryGeneration }
}

extension NSManagedObjectContext {
  /// The values of all these messages.
  ///
  /// It is made from the notification when the message is posted, and reads the IDs from it when a property is read.
  public struct ObjectIDsMessageContent: Sendable {
    let context: NSManagedObjectContext
    let historyToken: NSPersistentHistoryToken?
    let queryGeneration: NSQueryGenerationToken?
    /// The notification's. Reading a set costs more than making the message, and most observers read no set.
    ///
    /// Safe to pass on: it never changes, and only IDs are read from it, which are `Sendable`.
    nonisolated(unsafe) private let userInfo: [AnyHashable: Any]

    /// Nil for a notification of another name or from a context of another kind. Called on the context's queue.
    init?(_ notification: Notification, _ name: Notification.Name, _ kind: NSManagedObjectContextConcurrencyType) {
      guard let context = sender(of: notification, name, kind) else { return nil }
      self.context = context
      historyToken = notification.historyToken
      queryGeneration = context.savedGeneration
      userInfo = notification.userInfo ?? [:]
    }

    func ids(_ key: NotificationKey) -> Set<NSManagedObjectID> {
      userInfo[key.rawValue] as? Set<NSManagedObjectID> ?? []
    }

    /// The notification back, for `makeNotification(_:)`.
    func notification(_ name: Notification.Name) -> Notification {
      Notification(name: name, object: context, userInfo: userInfo)
    }
  }

  /// Posted after a main-queue context saved, with the IDs of the saved objects.
  ///
  /// ```swift
  /// @MainActor func follow(_ context: NSManagedObjectContext) -> NotificationCenter.ObservationToken {
  ///   NotificationCenter.default.addObserver(of: context, for: .didSaveObjectIDs) { message in
  ///     print(message.insertedIDs.map(\.uriString))
  ///   }
  /// }
  /// ```
  ///
  /// It is delivered on the main actor, during the save. A save without changes posts none.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.DidSaveObjectIDsMessage`.
  public struct DidSaveObjectIDsMessage: NotificationCenter.MainActorMessage, ManagedObjectIDsMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextDidSaveObjectIDs }
    /// What the properties of `ManagedObjectIDsMessage` give one by one.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidSaveObjectIDsMessage? {
      ObjectIDsMessageContent(notification, name, .mainQueueConcurrencyType).map(DidSaveObjectIDsMessage.init)
    }

    /// The notification with the same content.
    @MainActor public static func makeNotification(_ message: DidSaveObjectIDsMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a private-queue context saved, with the IDs of the saved objects.
  ///
  /// ```swift
  /// for await message in NotificationCenter.default.messages(of: context, for: .didSaveObjectIDsAsync) {
  ///   for id in message.deletedIDs { print("gone:", id.uriString) }
  /// }
  /// ```
  ///
  /// It is delivered a moment after the save, in the observer's task. A save without changes posts none.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.DidSaveObjectIDsAsyncMessage`.
  public struct DidSaveObjectIDsAsyncMessage: NotificationCenter.AsyncMessage, ManagedObjectIDsMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextDidSaveObjectIDs }
    /// What the properties of `ManagedObjectIDsMessage` give one by one.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue. Call it on the context's queue.
    public static func makeMessage(_ notification: Notification) -> DidSaveObjectIDsAsyncMessage? {
      ObjectIDsMessageContent(notification, name, .privateQueueConcurrencyType).map(DidSaveObjectIDsAsyncMessage.init)
    }

    /// The notification with the same content.
    public static func makeNotification(_ message: DidSaveObjectIDsAsyncMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a main-queue context merged another save, with the IDs of the objects of that save.
  ///
  /// It is delivered on the main actor, after `ObjectsDidChangeMessage` of the same merge.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.DidMergeChangesMessage`.
  public struct DidMergeChangesMessage: NotificationCenter.MainActorMessage, ManagedObjectIDsMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }
    /// What the properties of `ManagedObjectIDsMessage` give one by one.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidMergeChangesMessage? {
      ObjectIDsMessageContent(notification, name, .mainQueueConcurrencyType).map(DidMergeChangesMessage.init)
    }

    /// The notification with the same content.
    @MainActor public static func makeNotification(_ message: DidMergeChangesMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a private-queue context merged another save, with the IDs of the objects of that save.
  ///
  /// ```swift
  /// for await message in NotificationCenter.default.messages(of: context, for: .didMergeChangesAsync) {
  ///   print(message.refreshedIDs.count, "objects have new values")
  /// }
  /// ```
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.DidMergeChangesAsyncMessage`.
  public struct DidMergeChangesAsyncMessage: NotificationCenter.AsyncMessage, ManagedObjectIDsMessage {
    /// The kind of object that posts the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification with the same content.
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }
    /// What the properties of `ManagedObjectIDsMessage` give one by one.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue. Call it on the context's queue.
    public static func makeMessage(_ notification: Notification) -> DidMergeChangesAsyncMessage? {
      ObjectIDsMessageContent(notification, name, .privateQueueConcurrencyType).map(DidMergeChangesAsyncMessage.init)
    }

    /// The notification with the same content.
    public static func makeNotification(_ message: DidMergeChangesAsyncMessage) -> Notification {
      message.content.notification(name)
    }
  }
}
