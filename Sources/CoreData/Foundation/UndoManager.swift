/// Records how to undo changes, in groups, and how to redo them. Foundation on Linux has no such class, so this module
/// has one with its API.
///
/// ```swift
/// let manager = UndoManager()
/// context.undoManager = manager
/// manager.beginUndoGrouping()
/// book.title = "Emma"
/// book.pages = 474
/// context.processPendingChanges()
/// manager.setActionName("Edit Book")
/// manager.endUndoGrouping()
/// print(manager.undoMenuItemTitle)  // Undo Edit Book
/// context.undo()
/// ```
///
/// Every registration belongs to a group, and `undo()` undoes a top-level group. With `groupsByEvent` the first
/// registration opens one. It is closed at the end of the main queue's turn, by `undo()`, or for a context's changes by
/// `processPendingChanges()`. The manager is bound to no queue; use it on one queue at a time.
///
/// A context has no undo manager by default, and then keeps no former values: set one only where a user can undo.
///
/// ```text
/// undoStack            redoStack
/// [edit A][edit B]     []             two groups were closed
/// undo():              runs B's handlers backwards; what they register becomes a group of redoStack
/// [edit A]             [B again]
/// redo():              the same the other way round
/// a new registration   empties redoStack
/// ```
///
/// Source: Apple's documentation of `UndoManager`.
open class UndoManager: NSObject {
  /// The registrations and closed groups inside a group.
  ///
  /// It contains the groups that were closed while it was open, and is undone as a whole.
  final class Group {
    enum Step {
      case action(UndoAction)
      case group(Group)
    }

    var steps: [Step] = []
    var name = ""
    var isDiscardable = false
    /// Whether an undo or redo makes the group: it does the opposite. That of an undo goes onto the stack for redo,
    /// even if other groups are open.
    var isOpposite = false
  }

  /// Outermost first. More than one is open only between calls of `beginUndoGrouping()`.
  final var openGroups: [Group] = []
  /// Closed top-level groups, the last one at the end.
  final var undoStack: [Group] = []
  /// Groups that were undone. Any registration outside of undo and redo empties it, since redoing would then start from
  /// another state.
  final var redoStack: [Group] = []
  private var disabledCount = 0
  /// Whether a registration, not `beginUndoGrouping()`, opened the outermost open group.
  private var isOpenedByEvent = false

  /// A manager without registrations, which keeps any number of groups.
  public override init() { super.init() }

  // MARK: Settings

  /// Whether a registration outside of all groups opens one that ends with the event. If false, such a registration
  /// traps, a context's changes included: open a group first. Default: true.
  ///
  /// Set it to false if the program opens all groups itself, so that a registration outside of them is found.
  open var groupsByEvent = true

  /// The number of groups that are kept; the oldest are dropped. 0, the default, keeps all: set a number in a program
  /// that runs long, since a context's registrations hold the former values of its objects.
  ///
  /// ```swift
  /// let manager = UndoManager()
  /// manager.levelsOfUndo = 20
  /// context.undoManager = manager
  /// ```
  open var levelsOfUndo = 0 { didSet { trim() } }

  /// Kept, without effect: an event is a turn of the main queue here.
  open var runLoopModes: [RunLoop.Mode] = [.default]

  /// Ignores registrations until `enableUndoRegistration()` was called as many times.
  ///
  /// ```swift
  /// context.undoManager?.disableUndoRegistration()
  /// book.isRead = true  // cannot be undone
  /// context.processPendingChanges()
  /// context.undoManager?.enableUndoRegistration()
  /// ```
  open func disableUndoRegistration() { disabledCount += 1 }

  /// Reverts one call of `disableUndoRegistration()`. Traps without one. Registrations are recorded again when all
  /// calls were reverted.
  open func enableUndoRegistration() {
    require(disabledCount > 0, "enableUndoRegistration() was called more often than disableUndoRegistration().")
    disabledCount -= 1
  }

  /// Whether registrations are recorded: false between `disableUndoRegistration()` and the call that reverts it.
  open var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  // MARK: State

  /// Whether `undo()` is running.
  ///
  /// Registrations made meanwhile form the group that redoes.
  open private(set) var isUndoing = false
  /// Whether `redo()` is running.
  open private(set) var isRedoing = false

  /// How many groups are open, one inside of the other; 0 for none.
  ///
  /// In a handler that `undo()` runs it is 1: the group that redoes is open. In one that `undoNestedGroup()` runs the
  /// groups around it count too.
  open var groupingLevel: Int { openGroups.count }

  /// Whether `undo()` has something to undo.
  ///
  /// A group that is open and empty does not count.
  open var canUndo: Bool { !undoStack.isEmpty || openGroups.contains { !$0.steps.isEmpty } }

  /// Whether `redo()` has something to redo. Posts `NSUndoManagerCheckpoint` first.
  open var canRedo: Bool {
    post(.NSUndoManagerCheckpoint)
    return !redoStack.isEmpty
  }

  /// The number of closed groups that `undo()` can undo one after the other: at most `levelsOfUndo`, if that is not 0.
  open var undoCount: Int { undoStack.count }

  /// The number of groups that `redo()` can redo one after the other.
  open var redoCount: Int { redoStack.count }

  // MARK: Groups

  /// Opens a group, which `endUndoGrouping()` closes.
  ///
  /// ```swift
  /// context.undoManager?.beginUndoGrouping()
  /// book.title = "Emma"
  /// context.processPendingChanges()
  /// book.pages = 474
  /// context.processPendingChanges()
  /// context.undoManager?.endUndoGrouping()  // one undo takes both back
  /// ```
  open func beginUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    open()
  }

  private func open() {
    openGroups.append(Group())
    post(.NSUndoManagerDidOpenUndoGroup)
  }

  /// Closes the innermost group. It becomes a step of the enclosing group, or the next one to undo. An empty group is
  /// dropped. Traps if no group is open.
  ///
  /// Call it once for each `beginUndoGrouping()`, for example in a `defer`: if groups stay open, later changes become
  /// part of them, and `undo()` traps if there are several.
  open func endUndoGrouping() {
    require(!openGroups.isEmpty, "endUndoGrouping() was called without a group being open.")
    post(.NSUndoManagerCheckpoint)
    let isDiscardable = openGroups.last?.isDiscardable ?? false
    let info = [NSUndoManagerGroupIsDiscardableKey: isDiscardable]
    post(.NSUndoManagerWillCloseUndoGroup, info)
    let group = openGroups.removeLast()
    if openGroups.isEmpty { isOpenedByEvent = false }
    if !group.steps.isEmpty {
      if group.isOpposite && isUndoing {
        redoStack.append(group)
      } else if let outer = openGroups.last {
        outer.steps.append(.group(group))
        if outer.name.isEmpty { outer.name = group.name }
      } else {
        undoStack.append(group)
        trim()
      }
    }
    post(.NSUndoManagerDidCloseUndoGroup, info)
  }

  /// Closes the group that the event opened, if no other is open.
  ///
  /// A context calls it when it has processed its changes, the main queue's next turn calls it for other registrations.
  /// A group that the program opened is left open.
  final func endEvent() {
    if isOpenedByEvent && openGroups.count == 1 && !isUndoing && !isRedoing { endUndoGrouping() }
  }

  /// Drops the oldest groups beyond `levelsOfUndo`.
  private func trim() {
    if levelsOfUndo > 0 && undoStack.count > levelsOfUndo { undoStack.removeFirst(undoStack.count - levelsOfUndo) }
  }

  // MARK: Registration

  /// Registers the code that undoes a change. Registrations that the handler makes while it runs redo the change.
  ///
  /// The target is held weakly: if it is gone, the handler is not called.
  ///
  /// ```swift
  /// final class Counter {
  ///   let manager = UndoManager()
  ///   var value = 0 {
  ///     didSet { manager.registerUndo(withTarget: self) { [oldValue] in $0.value = oldValue } }
  ///   }
  /// }
  /// let counter = Counter()
  /// counter.value = 1
  /// counter.manager.undo()
  /// print(counter.value)  // 0; redo() makes it 1 again
  /// ```
  ///
  /// Do not register changes of managed objects: a context with an undo manager registers them. It has no effect while
  /// registration is disabled. Traps outside of a group if `groupsByEvent` is false.
  ///
  /// - Parameters:
  ///   - target: the object that changed. A handler that captures another object keeps it alive until the group is
  ///     dropped.
  ///   - handler: undoes the change; called on the queue that calls `undo()`.
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

  /// Ends the group with the main queue's turn: by a block at the end of the main queue, where Apple's framework uses
  /// the run loop.
  private func scheduleEndOfEvent() {
    // On another queue `undo()`, `processPendingChanges()` or the program ends the group.
    guard PerformScope.isOnMainQueue else { return }
    let manager = MainQueueManager(manager: self)
    DispatchQueue.main.async { manager.manager?.endEvent() }
  }

  /// `@unchecked Sendable`: created and used on the main queue.
  private struct MainQueueManager: @unchecked Sendable { weak var manager: UndoManager? }

  /// Drops everything that could be undone or redone, open groups included, and enables registration.
  ///
  /// A handler may call it: the undo or redo goes on, and what is registered from then on does the opposite.
  open func removeAllActions() {
    // The group that a running undo or redo makes is open until that ends.
    openGroups.removeAll { !$0.isOpposite }
    openGroups.first?.steps.removeAll()
    isOpenedByEvent = false
    undoStack.removeAll()
    redoStack.removeAll()
    disabledCount = 0
  }

  /// Drops the registrations for a target.
  ///
  /// A context calls it when it is reset, since its registrations concern objects that it no longer has. Groups that
  /// have nothing left are dropped. It takes time proportional to the number of registrations.
  open func removeAllActions(withTarget target: Any) {
    let id = ObjectIdentifier(target as AnyObject)
    for group in openGroups { group.removeActions(of: id) }
    for stack in [\UndoManager.undoStack, \.redoStack] {
      for group in self[keyPath: stack] { group.removeActions(of: id) }
      self[keyPath: stack].removeAll { $0.steps.isEmpty }
    }
  }

  // MARK: Undoing

  /// Undoes the last top-level group, after closing it if it is open. Traps if several groups are open, and inside of
  /// an undo or redo.
  ///
  /// `NSManagedObjectContext.undo()` processes the context's pending changes first, so call that one for a context.
  /// Without a group to undo nothing happens.
  open func undo() {
    post(.NSUndoManagerCheckpoint)
    require(openGroups.count <= 1, "undo() was called while \(openGroups.count) groups are open; close all but one.")
    if openGroups.count == 1 { endUndoGrouping() }
    undoNestedGroup()
  }

  /// Undoes the last closed group, which may be one inside of an open group. `redo()` redoes it as a group.
  ///
  /// ```swift
  /// let manager = UndoManager()
  /// context.undoManager = manager
  /// manager.beginUndoGrouping()
  /// book.title = "Emma"
  /// manager.beginUndoGrouping()
  /// book.pages = 474
  /// manager.endUndoGrouping()
  /// manager.undoNestedGroup()  // the former number of pages; the title stays
  /// manager.endUndoGrouping()
  /// ```
  ///
  /// Use it to undo a part of the open group, and `undo()` in all other cases. Without a closed group nothing happens.
  /// Traps if something was registered in an open group after the last closed one, and inside of an undo or redo.
  ///
  /// Source: Apple's documentation of `undoNestedGroup()`.
  open func undoNestedGroup() {
    post(.NSUndoManagerCheckpoint)
    require(!isUndoing && !isRedoing, "undo() was called by what an undo or redo does.")
    guard let group = takeLastClosedGroup() else { return }
    post(.NSUndoManagerWillUndoChange)
    isUndoing = true
    reverse(group)
    isUndoing = false
    post(.NSUndoManagerDidUndoChange)
  }

  /// Takes the group that was closed last from where it is. Open groups without steps do not count.
  ///
  /// ```text
  /// open: [edit A [edit B]]            edit B leaves the open group
  /// open: [edit A [edit B] change]     traps: the change came after edit B
  /// open: [ ], undoStack: [edit A]     edit A leaves the stack
  /// ```
  private func takeLastClosedGroup() -> Group? {
    guard let holder = openGroups.last(where: { !$0.steps.isEmpty }) else { return undoStack.popLast() }
    guard case .group(let group)? = holder.steps.last else {
      fatalError("undoNestedGroup() was called after a registration in an open group: close the group first.")
    }
    holder.steps.removeLast()
    return group
  }

  /// Redoes the last undone group.
  ///
  /// Without a group to redo nothing happens. Traps inside of an undo or redo.
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

  /// Runs a group's steps backwards. The registrations made meanwhile form a group of the same name that does the
  /// opposite.
  ///
  /// The new group goes onto `redoStack` during an undo. During a redo it becomes a step of the open group or, if none
  /// is open, goes onto `undoStack`: see `endUndoGrouping()`.
  private func reverse(_ group: Group) {
    open()
    openGroups.last?.isOpposite = true
    openGroups.last?.name = group.name
    openGroups.last?.isDiscardable = group.isDiscardable
    group.runBackwards()
    endUndoGrouping()
  }

  /// Posts a notification on the thread that uses the manager, at once.
  func post(_ name: Notification.Name, _ info: [AnyHashable: Any]? = nil) {
    NotificationCenter.default.post(name: name, object: self, userInfo: info)
  }
}

/// One registered step.
///
/// The closure holds the target weakly, and `target` identifies it without keeping it alive. Another object may get the
/// same identifier after the target is freed; the action does nothing then.
struct UndoAction {
  let target: ObjectIdentifier
  let run: () -> Void

  init<Target: AnyObject>(_ target: Target, _ handler: @escaping (Target) -> Void) {
    self.target = ObjectIdentifier(target)
    run = { [weak target] in if let target { handler(target) } }
  }
}

extension UndoManager.Group {
  /// Runs the steps, the last one first.
  func runBackwards() {
    for step in steps.reversed() {
      switch step {
      case .action(let action): action.run()
      case .group(let group): group.runBackwards()
      }
    }
  }

  @inline(never)
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
