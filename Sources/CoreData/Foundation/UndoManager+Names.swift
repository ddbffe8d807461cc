/// The names of groups, and the manager's notifications.
extension UndoManager {
  /// Names the innermost open group or, if none is open, the last closed one: "Delete Book".
  ///
  /// The name appears in menu titles. The enclosing group takes it over if it has no name, and so does the group that
  /// redoes the changes.
  public final func setActionName(_ actionName: String) { currentGroup?.name = actionName }

  /// Marks the group as one whose loss does no harm, such as a change of the selection.
  ///
  /// Read `undoActionIsDiscardable` to decide whether to warn of unsaved changes.
  public final func setActionIsDiscardable(_ discardable: Bool) { currentGroup?.isDiscardable = discardable }

  private var currentGroup: Group? { openGroups.last ?? undoStack.last }

  /// The name of the group that `undo()` would undo, which is the outermost open group if there is one; "" for none.
  public final var undoActionName: String { (openGroups.first ?? undoStack.last)?.name ?? "" }

  /// The name of the group that `redo()` would redo; "" for none.
  public final var redoActionName: String { redoStack.last?.name ?? "" }

  /// Whether the group that `undo()` would undo was marked by `setActionIsDiscardable(_:)`.
  public final var undoActionIsDiscardable: Bool { (openGroups.first ?? undoStack.last)?.isDiscardable ?? false }

  /// Whether the group that `redo()` would redo was marked by `setActionIsDiscardable(_:)`.
  public final var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

  /// A menu title in English: "Undo", with `undoActionName` if there is one. A program in another language builds its
  /// title from `undoActionName`.
  public final var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }

  /// A menu title in English: "Redo", with `redoActionName` if there is one.
  public final var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }

  /// The title for undoing an action of this name: "Undo Delete Book", or "Undo" for "". In English.
  public final func undoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Undo" : "Undo \(actionName)"
  }

  /// The title for redoing an action of this name: "Redo Delete Book", or "Redo" for "". In English.
  public final func redoMenuTitle(forUndoActionName actionName: String) -> String {
    actionName.isEmpty ? "Redo" : "Redo \(actionName)"
  }
}

/// A `Bool` in the user info of the notifications about closing a group: whether the group is discardable.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
  /// Posted by `beginUndoGrouping()`, before a group is closed, before undo and redo, and by `canRedo`, so that an
  /// observer can register changes that it has held back.
  public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
  /// After a group was opened.
  public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  /// Before a group is closed, with `NSUndoManagerGroupIsDiscardableKey`.
  public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  /// After a group was closed, with `NSUndoManagerGroupIsDiscardableKey`.
  ///
  /// A user interface updates its undo command on it, and on the notifications about undo and redo. The object is the
  /// manager; it is posted on the thread that uses the manager.
  public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
  /// Before a top-level group is undone.
  public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
  /// After a top-level group was undone.
  public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
  /// Before a group is redone.
  public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
  /// After a group was redone.
  public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
}
