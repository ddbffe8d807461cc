/// The names of groups, and the manager's notifications.
extension UndoManager {
  /// Names the open group, or else the last one: "Delete Book".
  ///
  /// The name appears in menu titles. It passes from a nested group to the enclosing one, if that has none, and to the
  /// group that redoes it.
  public final func setActionName(_ actionName: String) { currentGroup?.name = actionName }

  /// Marks the group as one whose loss does no harm, such as a change of the selection.
  ///
  /// A program can ask `undoActionIsDiscardable` before it warns of unsaved changes.
  public final func setActionIsDiscardable(_ discardable: Bool) { currentGroup?.isDiscardable = discardable }

  private var currentGroup: Group? { openGroups.last ?? undoStack.last }

  /// The name of the group that `undo()` would undo; "" for none.
  ///
  /// While a group is open it is the open group's.
  public final var undoActionName: String { (openGroups.first ?? undoStack.last)?.name ?? "" }

  /// The name of the group that `redo()` would redo; "" for none.
  public final var redoActionName: String { redoStack.last?.name ?? "" }

  /// Whether nothing is lost if what `undo()` would undo is never undone or saved.
  public final var undoActionIsDiscardable: Bool { (openGroups.first ?? undoStack.last)?.isDiscardable ?? false }

  /// Whether nothing is lost if what `redo()` would redo is never redone or saved.
  public final var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

  /// A title for a menu: "Undo", with the name of the action if it has one.
  ///
  /// In English; a program in another language builds its title from `undoActionName`.
  public final var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }

  /// A title for a menu: "Redo", with the name of the action if it has one.
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

/// Whether the closed group is discardable, in the user info of the notifications about closing.
///
/// A Bool.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
  /// Posted before a group is opened or closed, before undo and redo, and by `canRedo`, so that late changes can be
  /// registered.
  public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
  /// After a group was opened.
  public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  /// Before a group is closed, with `NSUndoManagerGroupIsDiscardableKey`.
  public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  /// After a group was closed, with `NSUndoManagerGroupIsDiscardableKey`.
  ///
  /// A user interface refreshes its undo command on it, and on those about undo and redo. The object is the manager,
  /// and the thread is the one that uses it.
  public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
  /// Before a group is undone.
  public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
  /// After a group was undone.
  public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
  /// Before a group is redone.
  public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
  /// After a group was redone.
  public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
}
