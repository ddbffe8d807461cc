import Testing

@testable import CoreData

/// What a context has changed: the lists, the objects' flags, and the event that observers are told of.
@Suite struct PendingChangesTests {
  private let model = LibraryModel.make()
  private let changes = PendingChanges()

  private func object() throws -> NSManagedObject {
    NSManagedObject(entity: try #require(model.entitiesByName["Tag"]), insertInto: nil)
  }

  /// An object with a row that has been read.
  private func stored() throws -> NSManagedObject {
    let object = try object()
    object.state.remove(.unborn)
    object.snapshot = Snapshot.make(object.layout, version: 1)
    return object
  }

  // MARK: Lists and flags

  @Test(arguments: 0..<20) func eachObjectIsInTheOneListThatItsFlagsName(seed: Int) throws {
    // Given objects with rows and new ones
    let objects = try (0..<40).map { $0 < 20 ? try stored() : try object() }
    var random = RandomSteps(seed: seed)
    for _ in 0..<2000 {
      // When they change in any order in which a context lets them
      let object = objects[random.next(objects.count)]
      let hasRow = object.snapshot != nil
      switch random.next(12) {
      case 0 where !hasRow && !object.hasChanges: changes.insert(object)
      case 1, 2: if hasRow || object.isInserted { changes.update(object) }
      case 3, 4: if !object.isDeleted && (hasRow || object.isInserted) { changes.delete(object) }
      case 5 where object.isDeleted:
        if !changes.takeBackDeletion(of: object) { changes.takeBackDeletion(ofNew: object) }
      case 6 where hasRow && !object.isInserted: changes.withdraw(object)
      case 7 where object.isUpdated: changes.insertAgain(object)
      case 8 where object.isInserted: changes.updateInsteadOfInserting(object)
      case 9: if !object.isDeleted { changes.deleteMissing(object) }
      case 10: changes.forget(object)
      default: _ = changes.endEvent()
      }
      // Then flags and lists agree
      if object.isInserted && object.isDeleted { changes.forget(object) }
      for object in objects {
        #expect(object.isInserted == changes.inserted.contains(object))
        #expect(object.isUpdated == changes.updated.contains(object))
        // A new object that is deleted is in no list.
        #expect(object.isDeleted || !changes.deleted.contains(object))
        #expect([object.isInserted, object.isUpdated, object.isDeleted].filter { $0 }.count <= 1)
      }
      if random.next(100) == 0 {
        changes.settle()
        #expect(changes.isEmpty && !objects.contains { $0.isInserted || $0.isUpdated })
        for object in objects where object.isDeleted { changes.forget(object) }
      }
    }
  }

  @Test func takingAllBackLeavesNoChangeAndNamesWhatHadOne() throws {
    let (new, changed, deleted, droppedNew) = (try object(), try stored(), try stored(), try object())
    changes.insert(new)
    changes.update(changed)
    changes.delete(deleted)
    changes.insert(droppedNew)
    changes.delete(droppedNew)
    let taken = changes.takeBack()
    #expect(taken.new == [new, droppedNew] && Set(taken.stored) == [changed, deleted])
    #expect(changes.isEmpty && changes.event.isEmpty && changes.takeUnpropagated().isEmpty)
    #expect(![new, changed, deleted, droppedNew].contains { $0.hasChanges || $0.state.contains(.isNoted) })
  }

  // MARK: Events

  @Test func whatIsInsertedAndDeletedInOneEventIsNotTold() throws {
    let object = try object()
    changes.insert(object)
    changes.delete(object)
    #expect(changes.event.isEmpty && changes.isEmpty && object.isDeleted)
  }

  @Test func whatIsInsertedAndDeletedInTwoEventsIsToldAsDeleted() throws {
    let object = try object()
    changes.insert(object)
    #expect(changes.endEvent().inserted.items == [object])
    changes.delete(object)
    #expect(changes.event.deleted.items == [object] && changes.isEmpty)
  }

  @Test func aDeletionThatIsTakenBackInItsEventIsNotTold() throws {
    let object = try stored()
    changes.delete(object)
    #expect(changes.takeBackDeletion(of: object))
    #expect(changes.event.isEmpty && changes.isEmpty && !object.isDeleted)
    #expect(changes.takeUnpropagated().isEmpty)
  }

  @Test func aDeletionThatIsTakenBackLaterIsToldAsAnInsertion() throws {
    let object = try stored()
    changes.delete(object)
    var sets = NotificationSets()
    let deletion = changes.endEvent().userInfo(&sets)
    #expect(deletion[NSDeletedObjectsKey] as? Set<NSManagedObject> == [object])
    #expect(changes.takeBackDeletion(of: object))
    let insertion = changes.endEvent().userInfo(&sets)
    #expect(insertion[NSInsertedObjectsKey] as? Set<NSManagedObject> == [object])
    #expect(insertion[NSUpdatedObjectsKey] == nil && changes.isEmpty)
  }

  @Test func theFirstChangeOfAnEventKeepsTheValuesItBeganWith() throws {
    let object = try stored()
    let slot = try #require(object.layout.slot("label"))
    func set(_ label: String) {
      object.willEditPrimitively()
      changes.update(object)
      object.snapshot?.assign(slot: slot, to: label)
    }
    set("a")
    // The last saved values are the start of the first event.
    #expect(changes.event.start(of: object)?.isNil(slot) == true)
    _ = changes.endEvent()
    set("b")
    set("c")
    #expect(changes.event.start(of: object)?.load(slot, as: String.self) == "a")
  }

  @Test func changesMadeWhileAnEventIsToldBelongToTheNext() throws {
    let (first, second) = (try stored(), try stored())
    changes.update(first)
    let event = changes.endEvent()
    changes.posting(event) {
      changes.update(second)
      #expect(changes.currentEvent(of: first)?.isOver == true)
      #expect(changes.currentEvent(of: second)?.isOver == false)
    }
    #expect(changes.currentEvent(of: first) == nil && changes.event.updated.items == [second])
  }

  // MARK: Delete rules

  @Test func deleteRulesAreAppliedOnceAndNewObjectsForgottenAfterwards() throws {
    let (new, row) = (try object(), try stored())
    changes.insert(new)
    for object in [new, row] { changes.delete(object) }
    #expect(changes.takeUnpropagated() == [new, row] && changes.takeUnpropagated().isEmpty)
    for object in [new, row] { changes.didPropagate(object) }
    #expect(changes.takeDropped() == new && changes.takeDropped() == nil)
    #expect(changes.deleted.items == [row])
  }

  // MARK: Saves

  /// An object that is made later may have the address of one that was forgotten.
  @Test func aForgottenObjectIsAssignedToNoStore() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let (forgotten, other) = (try object(), try object())
    for object in [forgotten, other] {
      changes.insert(object)
      changes.assign(object, to: try #require(coordinator.objectStores.first))
    }
    changes.forget(forgotten)
    #expect(changes.assignedStore(of: forgotten) == nil && changes.assignedStore(of: other) != nil)
    changes.forget(other)
    #expect(!changes.hasAssignedStores)
  }

  @Test func anObjectIsCheckedOnceUntilItsCheckEnds() throws {
    let object = try stored()
    changes.check(object)
    changes.check(object)
    #expect(changes.checked == [object])
    #expect(changes.stopChecking(object) && !changes.stopChecking(object))
  }
}
