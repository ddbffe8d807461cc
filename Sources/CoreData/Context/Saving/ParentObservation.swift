/// Merges other saves into a context as they happen, as long as this object lives.
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
