/// Remembers how to take changes back, in groups, and how to make them again. Foundation on Linux has none, so this is
/// ours, with its API.
///
/// Every registration belongs to a group; what is undone at once is a group of the top level. With `groupsByEvent` the
/// first registration opens one by itself, which ends with the event: with the main queue's turn, with `undo()`, or,
/// for the changes of a context, with `processPendingChanges()`. Not bound to a queue, and used on one at a time.
///
/// Source: Apple's documentation of `UndoManager`.
open class UndoManager: NSObject {
  /// What registrations and groups are collected in.
  final class Group {
    enum Step {
      case action(UndoAction)
      case group(Group)
    }

    var steps: [Step] = []
    var name = ""
    var isDiscardable = false
  }

  final var openGroups: [Group] = []
  final var undoStack: [Group] = []
  final var redoStack: [Group] = []
  private var disabledCount = 0
  /// The outermost open group was opened by a registration, not by `beginUndoGrouping()`.
  private var isOpenedByEvent = false

  public override init() { super.init() }

  // MARK: Settings

  /// Whether a registration outside of all groups opens one, which ends with the event; without it such a registration
  /// traps. Default: true.
  open var groupsByEvent = true

  /// How many groups are kept, the oldest being dropped; 0 for all. Default: 0.
  open var levelsOfUndo = 0 { didSet { trim() } }

  /// Kept; events are the main queue's turns here.
  open var runLoopModes: [RunLoop.Mode] = [.default]

  /// Stops registrations until `enableUndoRegistration()` has been called as often.
  open func disableUndoRegistration() { disabledCount += 1 }

  open func enableUndoRegistration() {
    require(disabledCount > 0, "enableUndoRegistration() was called more often than disableUndoRegistration().")
    disabledCount -= 1
  }

  open var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  // MARK: State

  open private(set) var isUndoing = false
  open private(set) var isRedoing = false

  /// How many groups are open.
  open var groupingLevel: Int { openGroups.count }

  open var canUndo: Bool { !undoStack.isEmpty || openGroups.contains { !$0.steps.isEmpty } }

  open var canRedo: Bool {
    post(.NSUndoManagerCheckpoint)
    return !redoStack.isEmpty
  }

  /// How many groups could be undone one after the other.
  open var undoCount: Int { undoStack.count }

  open var redoCount: Int { redoStack.count }

  // MARK: Groups

  /// Opens a group; to be closed by `endUndoGrouping()`.
  open func beginUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    open()
  }

  private func open() {
    openGroups.append(Group())
    post(.NSUndoManagerDidOpenUndoGroup)
  }

  /// Closes the innermost group: it becomes a step of the one around it, or what `undo()` undoes next. An empty one is
  /// forgotten.
  open func endUndoGrouping() {
    require(!openGroups.isEmpty, "endUndoGrouping() was called without a group being open.")
    post(.NSUndoManagerCheckpoint)
    let isDiscardable = openGroups.last?.isDiscardable ?? false
    let info = [NSUndoManagerGroupIsDiscardableKey: isDiscardable]
    post(.NSUndoManagerWillCloseUndoGroup, info)
    let group = openGroups.removeLast()
    if openGroups.isEmpty { isOpenedByEvent = false }
    if !group.steps.isEmpty {
      if let outer = openGroups.last {
        outer.steps.append(.group(group))
        if outer.name.isEmpty { outer.name = group.name }
      } else if isUndoing {
        redoStack.append(group)
      } else {
        undoStack.append(group)
        trim()
      }
    }
    post(.NSUndoManagerDidCloseUndoGroup, info)
  }

  /// Closes the group that the event opened, if it is the only one.
  final func endEvent() {
    if isOpenedByEvent && openGroups.count == 1 && !isUndoing && !isRedoing { endUndoGrouping() }
  }

  private func trim() {
    if levelsOfUndo > 0 && undoStack.count > levelsOfUndo { undoStack.removeFirst(undoStack.count - levelsOfUndo) }
  }

  // MARK: Registration

  /// Registers what takes a change back; what the handler registers while it runs makes the change again.
  ///
  /// The target is not kept: with it gone, the handler is not called.
  open func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    guard isUndoRegistrationEnabled else { return }
    if openGroups.isEmpty {
      require(groupsByEvent, "An undo was registered outside of a group: call beginUndoGrouping() first.")
      open()
      isOpenedByEvent = true
      scheduleEndOfEvent()
    }
    if !isUndoing && !isRedoing { redoStack.removeAll() }
    openGroups.last?.steps.append(.action(UndoAction(target, handler)))
  }

  private func scheduleEndOfEvent() {
    // Elsewhere there are no turns to wait for.
    guard PerformScope.isOnMainQueue else { return }
    let manager = MainQueueManager(manager: self)
    DispatchQueue.main.async { manager.manager?.endEvent() }
  }

  /// `@unchecked Sendable`: made on the main queue and used there.
  private struct MainQueueManager: @unchecked Sendable { weak var manager: UndoManager? }

  /// Forgets everything that could be undone or redone, open groups too, and enables registration.
  open func removeAllActions() {
    openGroups.removeAll()
    isOpenedByEvent = false
    undoStack.removeAll()
    redoStack.removeAll()
    disabledCount = 0
  }

  /// Forgets what was registered for the target.
  open func removeAllActions(withTarget target: Any) {
    let id = ObjectIdentifier(target as AnyObject)
    for group in openGroups { group.removeActions(of: id) }
    for stack in [\UndoManager.undoStack, \.redoStack] {
      for group in self[keyPath: stack] { group.removeActions(of: id) }
      self[keyPath: stack].removeAll { $0.steps.isEmpty }
    }
  }

  // MARK: Undoing

  /// Undoes the last group of the top level, which is closed first if it is open.
  open func undo() {
    post(.NSUndoManagerCheckpoint)
    require(openGroups.count <= 1, "undo() was called while \(openGroups.count) groups are open; close all but one.")
    if openGroups.count == 1 { endUndoGrouping() }
    undoNestedGroup()
  }

  /// Undoes the last group that is closed: a nested one where a group is open.
  open func undoNestedGroup() {
    post(.NSUndoManagerCheckpoint)
    require(!isUndoing && !isRedoing, "undo() was called by what an undo or redo does.")
    if let outer = openGroups.last {
      guard case .group(let group)? = outer.steps.last else { return }
      outer.steps.removeLast()
      return group.runBackwards()
    }
    guard let group = undoStack.popLast() else { return }
    post(.NSUndoManagerWillUndoChange)
    isUndoing = true
    reverse(group)
    isUndoing = false
    post(.NSUndoManagerDidUndoChange)
  }

  /// Makes the last change again that was undone.
  open func redo() {
    post(.NSUndoManagerCheckpoint)
    require(!isUndoing && !isRedoing, "redo() was called by what an undo or redo does.")
    guard let group = redoStack.popLast() else { return }
    post(.NSUndoManagerWillRedoChange)
    isRedoing = true
    reverse(group)
    isRedoing = false
    post(.NSUndoManagerDidRedoChange)
  }

  /// Runs a group; what is registered meanwhile is a group that does the opposite, under the same name.
  private func reverse(_ group: Group) {
    open()
    openGroups.last?.name = group.name
    openGroups.last?.isDiscardable = group.isDiscardable
    group.runBackwards()
    endUndoGrouping()
  }

  func post(_ name: Notification.Name, _ info: [AnyHashable: Any]? = nil) {
    NotificationCenter.default.post(name: name, object: self, userInfo: info)
  }
}

/// One registered step back.
struct UndoAction {
  let target: ObjectIdentifier
  let run: () -> Void

  init<Target: AnyObject>(_ target: Target, _ handler: @escaping (Target) -> Void) {
    self.target = ObjectIdentifier(target)
    run = { [weak target] in if let target { handler(target) } }
  }
}

extension UndoManager.Group {
  /// The last step first.
  func runBackwards() {
    for step in steps.reversed() {
      switch step {
      case .action(let action): action.run()
      case .group(let group): group.runBackwards()
      }
    }
  }

  func removeActions(of target: ObjectIdentifier) {
    steps.removeAll { step in
      switch step {
      case .action(let action): return action.target == target
      case .group(let group):
        group.removeActions(of: target)
        return group.steps.isEmpty
      }
    }
  }
}
