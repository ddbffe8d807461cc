import CoreData
import Testing

/// A number whose changes can be undone.
private final class Counter {
  var value = 0 { didSet { observe(value) } }
  /// Called with each new value.
  var observe: (Int) -> Void = { _ in }
  let manager: UndoManager

  init(_ manager: UndoManager) { self.manager = manager }

  func set(_ new: Int) {
    let old = value
    manager.registerUndo(withTarget: self) { $0.set(old) }
    value = new
  }
}

@Suite struct UndoManagerTests {
  private func counter() -> Counter {
    let manager = UndoManager()
    manager.groupsByEvent = false
    return Counter(manager)
  }

  private func group(_ counter: Counter, _ values: Int...) {
    counter.manager.beginUndoGrouping()
    for value in values { counter.set(value) }
    counter.manager.endUndoGrouping()
  }

  @Test func groupsAreUndoneAndRedoneAsAWholeAndInOrder() {
    let counter = counter()
    let manager = counter.manager
    group(counter, 1, 2)
    group(counter, 3)
    #expect(manager.undoCount == 2 && manager.canUndo && !manager.canRedo)
    manager.undo()
    #expect(counter.value == 2)
    manager.undo()
    #expect(counter.value == 0)
    #expect(!manager.canUndo && manager.redoCount == 2)
    manager.redo()
    #expect(counter.value == 2)
    manager.redo()
    #expect(counter.value == 3)
    manager.undo()
    #expect(counter.value == 2)
  }

  @Test func aNestedGroupIsPartOfItsOuterOneAndCanBeUndoneInside() {
    let counter = counter()
    let manager = counter.manager
    manager.beginUndoGrouping()
    counter.set(1)
    group(counter, 2)
    #expect(manager.groupingLevel == 1)
    manager.undoNestedGroup()
    #expect(counter.value == 1)
    group(counter, 3)
    manager.endUndoGrouping()
    manager.undo()
    #expect(counter.value == 0)
    #expect(!manager.canUndo)
  }

  @Test func anUndoneNestedGroupIsRedoneInsideOfItsOuterOne() {
    // Given a group inside of an open one.
    let counter = counter()
    let manager = counter.manager
    manager.beginUndoGrouping()
    counter.set(1)
    group(counter, 2, 3)
    let log = NameLog(of: manager)
    // When it is undone, and redone.
    manager.undoNestedGroup()
    let names = log.take().filter { !$0.hasSuffix("Group") }
    #expect(names == ["Checkpoint", "WillUndoChange", "Checkpoint", "DidUndoChange"])
    #expect(counter.value == 1 && manager.redoCount == 1 && manager.groupingLevel == 1)
    manager.redo()
    #expect(counter.value == 3 && manager.redoCount == 0 && manager.groupingLevel == 1)
    // Then it is a part of the outer one again.
    manager.endUndoGrouping()
    #expect(manager.undoCount == 1)
    manager.undo()
    #expect(counter.value == 0 && !manager.canUndo)
    manager.redo()
    #expect(counter.value == 3)
  }

  @Test func aGroupThatWasClosedInsideIsUndoneOnceOnly() {
    let counter = counter()
    let manager = counter.manager
    manager.beginUndoGrouping()
    counter.set(1)
    group(counter, 2)
    manager.undoNestedGroup()
    manager.endUndoGrouping()
    // The nested group's undoing is no step of the outer one: it would lead over 2.
    var values: [Int] = []
    counter.observe = { values.append($0) }
    manager.undo()
    #expect(values == [0])
    // Redone in the order of their making.
    manager.redo()
    manager.redo()
    #expect(values == [0, 1, 2])
  }

  @Test func undoNestedGroupUndoesATopLevelGroupIfNothingIsInTheOpenOne() {
    let counter = counter()
    let manager = counter.manager
    group(counter, 1)
    manager.beginUndoGrouping()
    manager.beginUndoGrouping()
    manager.undoNestedGroup()
    #expect(counter.value == 0 && manager.groupingLevel == 2 && manager.redoCount == 1)
    manager.undoNestedGroup()
    #expect(counter.value == 0)
    manager.endUndoGrouping()
    manager.endUndoGrouping()
    manager.redo()
    #expect(counter.value == 1 && manager.undoCount == 1)
  }

  @Test func undoInAnOpenGroupClosesItIfItIsTheOnlyOne() {
    let counter = counter()
    let manager = counter.manager
    manager.beginUndoGrouping()
    counter.set(1)
    group(counter, 2)
    counter.set(3)
    manager.undo()
    #expect(counter.value == 0 && manager.groupingLevel == 0)
    manager.redo()
    #expect(counter.value == 3)
  }

  @Test func undoingTrapsWhereItsGroupIsNotClear() async {
    var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.beginUndoGrouping()
      manager.beginUndoGrouping()
      manager.undo()
    }
    expectSentence(result, "while 2 groups are open")
    result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.beginUndoGrouping()
      manager.registerUndo(withTarget: manager) { _ in }
      manager.undoNestedGroup()
    }
    expectSentence(result, "after a registration in an open group")
  }

  @Test func aNewChangeForgetsWhatCouldBeRedone() {
    let counter = counter()
    group(counter, 1)
    counter.manager.undo()
    #expect(counter.manager.canRedo)
    group(counter, 5)
    #expect(!counter.manager.canRedo)
  }

  @Test func levelsOfUndoDropTheOldest() {
    let counter = counter()
    counter.manager.levelsOfUndo = 2
    for value in 1...4 { group(counter, value) }
    #expect(counter.manager.undoCount == 2)
    counter.manager.undo()
    counter.manager.undo()
    counter.manager.undo()
    #expect(counter.value == 2)
  }

  @Test func nothingIsRegisteredWhileRegistrationIsDisabled() {
    let counter = counter()
    counter.manager.disableUndoRegistration()
    counter.manager.disableUndoRegistration()
    counter.manager.enableUndoRegistration()
    #expect(!counter.manager.isUndoRegistrationEnabled)
    group(counter, 1)
    #expect(!counter.manager.canUndo)
    counter.manager.enableUndoRegistration()
    group(counter, 2)
    counter.manager.undo()
    #expect(counter.value == 1)
  }

  @Test func aRegistrationOpensItsEventsGroupWhichUndoCloses() {
    let counter = Counter(UndoManager())
    counter.set(1)
    counter.set(2)
    #expect(counter.manager.groupingLevel == 1)
    counter.manager.undo()
    #expect(counter.value == 0 && counter.manager.groupingLevel == 0)
    counter.manager.redo()
    #expect(counter.value == 2)
  }

  @Test @MainActor func theMainQueuesNextTurnEndsTheEventsGroup() async {
    let counter = Counter(UndoManager())
    counter.set(1)
    // The end of the turn was queued before this block.
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    #expect(counter.manager.groupingLevel == 0)
    counter.set(2)
    counter.manager.undo()
    #expect(counter.value == 1)
  }

  @Test func namesGoWithTheirGroupFromUndoToRedo() {
    let counter = counter()
    let manager = counter.manager
    group(counter, 1)
    manager.setActionName("Count")
    #expect(manager.undoActionName == "Count" && manager.redoActionName == "")
    #expect(manager.undoMenuItemTitle == "Undo Count" && manager.redoMenuItemTitle == "Redo")
    manager.undo()
    #expect(manager.undoActionName == "" && manager.redoActionName == "Count")
    #expect(manager.redoMenuItemTitle == "Redo Count")
  }

  @Test func actionsOfOneTargetCanBeRemoved() {
    let counter = counter()
    let other = Counter(counter.manager)
    counter.manager.beginUndoGrouping()
    counter.set(1)
    other.set(1)
    counter.manager.endUndoGrouping()
    group(counter, 2)
    counter.manager.removeAllActions(withTarget: counter)
    #expect(counter.manager.undoCount == 1)
    counter.manager.undo()
    #expect(counter.value == 2 && other.value == 0)
    counter.manager.removeAllActions()
    #expect(!counter.manager.canUndo && !counter.manager.canRedo)
  }

  @Test func aHandlerMayRemoveAllActions() {
    for redoes in [false, true] {
      // Given two changes, of which the last one is undone by two steps.
      let counter = counter()
      let manager = counter.manager
      group(counter, 1)
      group(counter, 2, 3)
      if redoes { manager.undo() }
      var values: [Int] = []
      counter.observe = {
        values.append($0)
        if values.count == 1 { manager.removeAllActions() }
      }
      // When all actions are removed after the first step.
      if redoes { manager.redo() } else { manager.undo() }
      // Then the other one runs, too, and it alone can be taken back.
      #expect(values == (redoes ? [2, 3] : [2, 1]))
      #expect(manager.groupingLevel == 0 && !manager.isUndoing && !manager.isRedoing)
      #expect(manager.undoCount == (redoes ? 1 : 0) && manager.redoCount == (redoes ? 0 : 1))
      if redoes { manager.undo() } else { manager.redo() }
      #expect(counter.value == 2)
    }
  }

  @Test func aHandlerMayRemoveTheActionsOfGroupsThatAreOpen() {
    let counter = counter()
    let manager = counter.manager
    manager.beginUndoGrouping()
    counter.set(1)
    group(counter, 2)
    counter.observe = { _ in manager.removeAllActions() }
    manager.undoNestedGroup()
    #expect(counter.value == 1 && manager.groupingLevel == 0 && !manager.canUndo && !manager.canRedo)
  }

  @Test func aTargetIsNotKept() {
    let manager = UndoManager()
    weak var target: Counter?
    do {
      let counter = Counter(manager)
      counter.set(1)
      target = counter
    }
    #expect(target == nil)
    manager.undo()
  }

  @Test func notificationsTellOfGroupsAndOfUndoing() {
    let counter = counter()
    let log = NameLog(of: counter.manager)
    group(counter, 1)
    #expect(log.take() == ["Checkpoint", "DidOpenUndoGroup", "Checkpoint", "WillCloseUndoGroup", "DidCloseUndoGroup"])
    counter.manager.undo()
    let names = log.take()
    #expect(names.filter { $0 != "Checkpoint" && !$0.hasSuffix("Group") } == ["WillUndoChange", "DidUndoChange"])
    #expect(names.first == "Checkpoint")
    _ = counter.manager.canRedo
    #expect(log.take() == ["Checkpoint"])
  }

  @Test func aRegistrationOutsideOfGroupsTrapsWithoutGroupsByEvent() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.groupsByEvent = false
      manager.registerUndo(withTarget: manager) { _ in }
    }
    expectSentence(result, "outside of a group")
  }
}

/// The names of the notifications of an undo manager, shortened.
private final class NameLog {
  private var names: [String] = []
  private var tokens: [any NSObjectProtocol] = []

  /// `@unchecked Sendable`: everything happens on the thread of one test.
  private struct Box: @unchecked Sendable { weak var log: NameLog? }

  init(of manager: UndoManager) {
    let box = Box(log: self)
    for name: Notification.Name in [
      .NSUndoManagerCheckpoint, .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup,
      .NSUndoManagerDidCloseUndoGroup, .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange,
    ] {
      let short = name.rawValue.replacingOccurrences(of: "NSUndoManager", with: "")
        .replacingOccurrences(of: "Notification", with: "")
      tokens.append(
        NotificationCenter.default.addObserver(forName: name, object: manager, queue: nil) { _ in
          box.log?.names.append(short)
        })
    }
  }

  deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }

  func take() -> [String] {
    defer { names = [] }
    return names
  }
}
