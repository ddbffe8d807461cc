/// What the groups are called, and what the manager tells of them.
extension UndoManager {
  /// Names the group that is open, or else the last one: "Delete Book".
  public final func setActionName(_ actionName: String) { currentGroup?.name = actionName }

  /// Says that nothing is lost if the group is never undone or saved, as with a change of what is selected.
  public final func setActionIsDiscardable(_ discardable: Bool) { currentGroup?.isDiscardable = discardable }

  private var currentGroup: Group? { openGroups.last ?? undoStack.last }

  /// The name of what `undo()` would undo; "" where it has none.
  public final var undoActionName: String { (openGroups.first ?? undoStack.last)?.name ?? "" }

  public final var redoActionName: String { redoStack.last?.name ?? "" }

  public final var undoActionIsDiscardable: Bool { (openGroups.first ?? undoStack.last)?.isDiscardable ?? false }

  public final var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

  public final var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }

  public final var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }

  public final func undoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Undo" : "Undo \(actionName)"
  }

  public final func redoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Redo" : "Redo \(actionName)"
  }
}

/// Whether the group that is closed may be discarded, in the user info of the notifications of closing.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
  /// Whoever registers late does so now: before a group is opened or closed, before undo and redo, and with `canRedo`.
  public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
  public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
  public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
  public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
  public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
  public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
}
