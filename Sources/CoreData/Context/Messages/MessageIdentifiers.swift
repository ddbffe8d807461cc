/// The identifiers by which observers name the messages: `.didSave`.
extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.WillSaveMessage> {
  /// Names `WillSaveMessage` to observers: before a save of a main-queue context.
  public static var willSave: NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.WillSaveMessage> {
    .init()
  }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveMessage> {
  /// Names `DidSaveMessage` to observers: after a save of a main-queue context, with its objects.
  ///
  /// ```swift
  /// @MainActor func observe(_ context: NSManagedObjectContext) -> NotificationCenter.ObservationToken {
  ///   NotificationCenter.default.addObserver(of: context, for: .didSave) { print($0.updated.count, "changed") }
  /// }
  /// ```
  ///
  /// The observation ends when the token is released.
  public static var didSave: NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveMessage> { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveObjectIDsMessage> {
  /// Names `DidSaveObjectIDsMessage` to observers: after a save of a main-queue context, with IDs.
  public static var didSaveObjectIDs:
    NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveObjectIDsMessage>
  { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveObjectIDsAsyncMessage> {
  /// Names `DidSaveObjectIDsAsyncMessage` to observers: after a save of a private-queue context, with IDs.
  ///
  /// ```swift
  /// for await message in NotificationCenter.default.messages(of: context, for: .didSaveObjectIDsAsync) {
  ///   print(message.updatedIDs.count, "changed")
  /// }
  /// ```
  public static var didSaveObjectIDsAsync:
    NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidSaveObjectIDsAsyncMessage>
  { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.ObjectsDidChangeMessage> {
  /// Names `ObjectsDidChangeMessage` to observers: at the end of each event that changed objects of a main-queue
  /// context.
  public static var objectsDidChange:
    NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.ObjectsDidChangeMessage>
  { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidMergeChangesMessage> {
  /// Names `DidMergeChangesMessage` to observers: after a main-queue context has merged another save.
  public static var didMergeChanges:
    NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidMergeChangesMessage>
  { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidMergeChangesAsyncMessage> {
  /// Names `DidMergeChangesAsyncMessage` to observers: after a private-queue context has merged another save.
  public static var didMergeChangesAsync:
    NotificationCenter.BaseMessageIdentifier<NSManagedObjectContext.DidMergeChangesAsyncMessage>
  { .init() }
}
