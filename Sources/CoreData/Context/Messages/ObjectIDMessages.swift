/// Messages with object IDs: from contexts on the main queue on the main actor, and from contexts with a queue of their
/// own to observers that run whenever they get to it.
///
///     for await message in NotificationCenter.default.messages(of: context, for: .didSaveObjectIDsAsync) { … }
///
/// Source: Apple's documentation of `NSManagedObjectContext.DidSaveObjectIDsMessage` and its like.
public protocol ManagedObjectIDsMessage {
  /// What the message says.
  var content: NSManagedObjectContext.ObjectIDsMessageContent { get }
}

extension ManagedObjectIDsMessage {
  /// The context that posted the message.
  public var context: NSManagedObjectContext { content.context }
  /// The IDs of new objects.
  public var insertedIDs: Set<NSManagedObjectID> { content.ids(.insertedObjectIDs) }
  /// The IDs of changed objects.
  public var updatedIDs: Set<NSManagedObjectID> { content.ids(.updatedObjectIDs) }
  /// The IDs of deleted objects.
  public var deletedIDs: Set<NSManagedObjectID> { content.ids(.deletedObjectIDs) }
  /// The IDs of objects that were read anew.
  public var refreshedIDs: Set<NSManagedObjectID> { content.ids(.refreshedObjectIDs) }
  /// The IDs of objects that became unusable.
  public var invalidatedIDs: Set<NSManagedObjectID> { content.ids(.invalidatedObjectIDs) }
  /// The place in the stores' histories then; nil where no store has a history, and in a context with a parent.
  public var historyToken: NSPersistentHistoryToken? { content.historyToken }
  /// What the context's reads see then; nil where that is not pinned, and in a context with a parent.
  public var queryGeneration: NSQueryGenerationToken? { content.queryGeneration }
}

extension NSManagedObjectContext {
  /// What all these messages carry.
  public struct ObjectIDsMessageContent: Sendable {
    let context: NSManagedObjectContext
    let historyToken: NSPersistentHistoryToken?
    let queryGeneration: NSQueryGenerationToken?
    private let lists: [String: Set<NSManagedObjectID>]

    private static let keys: [NotificationKey] = [
      .insertedObjectIDs, .updatedObjectIDs, .deletedObjectIDs, .refreshedObjectIDs, .invalidatedObjectIDs,
    ]

    /// nil for a notification of another name, or from a context of another kind. On the context's queue.
    init?(_ notification: Notification, _ name: Notification.Name, _ kind: NSManagedObjectContextConcurrencyType) {
      guard let context = sender(of: notification, name, kind) else { return nil }
      self.context = context
      historyToken = context.savedHistoryToken
      queryGeneration = context.savedGeneration
      var lists: [String: Set<NSManagedObjectID>] = [:]
      for key in Self.keys {
        let ids = notification.objectIDs(key)
        if !ids.isEmpty { lists[key.rawValue] = ids }
      }
      self.lists = lists
    }

    func ids(_ key: NotificationKey) -> Set<NSManagedObjectID> { lists[key.rawValue] ?? [] }

    func notification(_ name: Notification.Name) -> Notification {
      Notification(name: name, object: context, userInfo: lists)
    }
  }

  /// Posted after a context on the main queue saved: the IDs of what that was about.
  public struct DidSaveObjectIDsMessage: NotificationCenter.MainActorMessage, ManagedObjectIDsMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextDidSaveObjectIDs }
    /// What the message tells.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidSaveObjectIDsMessage? {
      ObjectIDsMessageContent(notification, name, .mainQueueConcurrencyType).map(DidSaveObjectIDsMessage.init)
    }

    /// The notification that says the same.
    @MainActor public static func makeNotification(_ message: DidSaveObjectIDsMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a context on a queue of its own saved: the IDs of what that was about.
  public struct DidSaveObjectIDsAsyncMessage: NotificationCenter.AsyncMessage, ManagedObjectIDsMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextDidSaveObjectIDs }
    /// What the message tells.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue. Call it on the context's queue.
    public static func makeMessage(_ notification: Notification) -> DidSaveObjectIDsAsyncMessage? {
      ObjectIDsMessageContent(notification, name, .privateQueueConcurrencyType).map(DidSaveObjectIDsAsyncMessage.init)
    }

    /// The notification that says the same.
    public static func makeNotification(_ message: DidSaveObjectIDsAsyncMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a context on the main queue merged what was saved elsewhere: the IDs of what that was about.
  public struct DidMergeChangesMessage: NotificationCenter.MainActorMessage, ManagedObjectIDsMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }
    /// What the message tells.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue.
    @MainActor public static func makeMessage(_ notification: Notification) -> DidMergeChangesMessage? {
      ObjectIDsMessageContent(notification, name, .mainQueueConcurrencyType).map(DidMergeChangesMessage.init)
    }

    /// The notification that says the same.
    @MainActor public static func makeNotification(_ message: DidMergeChangesMessage) -> Notification {
      message.content.notification(name)
    }
  }

  /// Posted after a context on a queue of its own merged what was saved elsewhere: the IDs of what that was about.
  public struct DidMergeChangesAsyncMessage: NotificationCenter.AsyncMessage, ManagedObjectIDsMessage {
    /// Contexts post the message.
    public typealias Subject = NSManagedObjectContext
    /// The name of the notification that says the same.
    public static var name: Notification.Name { .NSManagedObjectContextDidMergeChangesObjectIDs }
    /// What the message tells.
    public let content: ObjectIDsMessageContent

    /// nil for a notification of another name, or from a context on another queue. Call it on the context's queue.
    public static func makeMessage(_ notification: Notification) -> DidMergeChangesAsyncMessage? {
      ObjectIDsMessageContent(notification, name, .privateQueueConcurrencyType).map(DidMergeChangesAsyncMessage.init)
    }

    /// The notification that says the same.
    public static func makeNotification(_ message: DidMergeChangesAsyncMessage) -> Notification {
      message.content.notification(name)
    }
  }
}
