/// Merges other saves into a context as they happen, as long as this object lives:
/// `automaticallyMergesChangesFromParent`.
///
/// It observes the saves of all contexts and picks those that concern its own, since a context may get its coordinator
/// or parent after the switch was set. The IDs are read on the thread that saves, as the objects in the notification
/// belong to it, and merged on the context's queue:
///
///     saving context               this context's queue
///     posts DidSave
///       reads the IDs
///       perform { merge }
///     goes on                      merges: a moment later
final class ParentObservation {
  private let observation: NotificationObservation

  init(_ context: NSManagedObjectContext) {
    observation = NotificationObservation(of: .NSManagedObjectContextDidSave, from: nil) {
      [weak context] notification in
      guard let context, let saved = notification.object as? NSManagedObjectContext,
        ParentObservation.concerns(context, saved)
      else { return }
      let ids = SavedIDs(notification.userInfo ?? [:], coordinator: nil)
      if !ids.isEmpty { context.perform { context.merge(ids) } }
    }
  }

  /// Whether a save of one context changes what another one reads from its parent or its coordinator.
  private static func concerns(_ context: NSManagedObjectContext, _ saved: NSManagedObjectContext) -> Bool {
    if saved === context { return false }
    // What other children saved into the parent follows when the parent saves: it may still be rolled back.
    if let parent = context.parentContext { return saved === parent }
    return saved.parentContext == nil && saved.coordinator != nil && saved.coordinator === context.coordinator
  }
}
