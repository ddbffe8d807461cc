import Testing

@testable import CoreData

/// The objects of a context by ID, and how long they stay.
@Suite struct RegisteredObjectsTests {
  private let model = LibraryModel.make()
  private let graph = RegisteredObjects(ContextReference(nil))
  private let storedEntity: StoredEntity

  init() throws {
    let tag = try #require(model.entitiesByName["Tag"])
    storedEntity = StoredEntity(layout: tag.layout, collection: nil, number: 1, table: StoredEntity.newTable())
  }

  @Test func anObjectIsFoundUnderTheIDThatItHasNow() throws {
    let object = NSManagedObject(entity: storedEntity.entity, insertInto: nil)
    let temporary = object.objectID
    graph.add(object)
    #expect(graph.find(temporary) === object && graph.find(temporary: temporary.key) === object)
    let permanent = NSManagedObjectID(storedEntity: storedEntity, key: 7)
    graph.rename(object, to: permanent)
    #expect(object.objectID == permanent && graph.find(permanent) === object && graph.find(temporary) == nil)
    #expect(graph.owns(object) && graph.all == [object])
  }

  @Test func aCleanObjectStaysAsLongAsSomebodyHoldsIt() {
    let held = graph.make(storedEntity, 1, snapshot: nil)
    _ = graph.make(storedEntity, 2, snapshot: nil)
    graph.make(storedEntity, 3, snapshot: nil).state.insert(.updated)
    graph.sweep()
    #expect(Set(graph.all.map(\.key)) == [1, 3])
    withExtendedLifetime(held) {}
  }

  @Test func nothingIsAbandonedInAGraphThatKeepsWhatNobodyHolds() {
    graph.keepsUnheld = true
    for key in 1...3 { _ = graph.make(storedEntity, Int64(key), snapshot: Snapshot.make(storedEntity.layout)) }
    graph.sweep()
    #expect(graph.all.count == 3 && graph.findHeld(NSManagedObjectID(storedEntity: storedEntity, key: 2)) != nil)
    #expect(graph.reuse(2, storedEntity.table)?.snapshot != nil)
  }

  @Test func anAbandonedObjectComesBackAsAFault() {
    _ = graph.make(storedEntity, 1, snapshot: Snapshot.make(storedEntity.layout))
    let held = graph.make(storedEntity, 2, snapshot: Snapshot.make(storedEntity.layout))
    #expect(graph.reuse(1, storedEntity.table)?.snapshot == nil && graph.reuse(2, storedEntity.table)?.snapshot != nil)
    #expect(
      graph.findHeld(NSManagedObjectID(storedEntity: storedEntity, key: 1)) == nil
        && graph.find(1, storedEntity.table) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func objectsLeaveByThemselvesOnlyOutsideOfABodyThatHoldsThem() {
    let count = 10_000
    for key in 1...count { _ = graph.make(storedEntity, Int64(key), snapshot: nil) }
    #expect(graph.all.count < count)
    _ = graph.releaseAll()
    graph.withoutSweeping {
      for key in 1...count { _ = graph.make(storedEntity, Int64(key), snapshot: nil) }
    }
    #expect(graph.all.count == count)
  }

  @Test func aReleasedObjectBelongsToNoContext() {
    let object = graph.make(storedEntity, 1, snapshot: nil)
    graph.release(object)
    #expect(object.state.contains(.gone) && object.reference == nil && !graph.owns(object) && graph.isEmpty)
  }

  @Test func membersThatHoldEachOtherGoWithTheGraph() throws {
    weak var member: NSManagedObject?
    do {
      let graph = RegisteredObjects(ContextReference(nil))
      let (first, second) = (graph.make(storedEntity, 1, snapshot: nil), graph.make(storedEntity, 2, snapshot: nil))
      let index = try #require(storedEntity.layout.toManyIndex("ordered"))
      first.unloadedToMany(index).load([second])
      second.unloadedToMany(index).load([first])
      member = first
    }
    #expect(member == nil)
  }
}

/// What becomes of temporary IDs.
@Suite struct PermanentIDsTests {
  private let id: NSManagedObjectID

  init() throws {
    let entity = try #require(LibraryModel.make().entitiesByName["Tag"])
    id = NSManagedObjectID(storedEntity: entity.layout.temporaryEntity, key: 7)
  }

  @Test func anIDIsAwaitedUntilItIsKnown() {
    let ids = PermanentIDs()
    ids.noteAwaited(-1)
    ids.noteAwaited(-2)
    ids.note(-1, became: id)
    #expect(ids.awaited == [-2] && ids[-1] === id && ids[-2] == nil)
  }

  @Test func aContextWithoutChildrenKeepsNone() {
    let ids = PermanentIDs()
    ids.note(-1, became: id)
    ids.forgetUnlessForChildren()
    #expect(ids.byKey.isEmpty)
  }

  @Test func whatBecamePermanentIsKeptUntilEachChildOfThatTimeIsGone() {
    let ids = PermanentIDs()
    func save(_ key: Int64) {
      ids.note(key, became: id)
      ids.forgetUnlessForChildren()
    }
    var children = [Int64: PermanentIDs.Child]()
    for key in 1...3 as ClosedRange<Int64> {
      children[key] = ids.addChild()
      save(-key)
    }
    #expect(ids.isForChildren && Set(ids.byKey.keys) == [-1, -2, -3])
    children[2] = nil
    ids.forgetUnlessForChildren()
    #expect(Set(ids.byKey.keys) == [-1, -2, -3], "the first child may ask for all of them")
    children[1] = nil
    ids.forgetUnlessForChildren()
    #expect(Set(ids.byKey.keys) == [-3])
    children[3] = nil
    ids.forgetUnlessForChildren()
    #expect(!ids.isForChildren && ids.byKey.isEmpty)
  }

  /// A parent that lives as long as the program, and children: one for each change, or one that is reset after it.
  @Test(arguments: [true, false]) func aParentForgetsWhatItsFormerChildrenMightHaveAskedFor(isReset: Bool) throws {
    let parent = try TemporaryStore().context()
    var child = NSManagedObjectContext(.privateQueue)
    child.parent = parent
    for round in 0..<10 {
      try child.performAndWait {
        child.make("Book", ["title": "\(round)", "pages": round])
        try child.save()
      }
      try parent.performAndWait { try parent.save() }
      parent.performAndWait { #expect(parent.permanentIDs.byKey.count <= 2, "after round \(round)") }
      if isReset {
        child.performAndWait { child.reset() }
      } else {
        child = NSManagedObjectContext(.privateQueue)
        child.parent = parent
      }
    }
  }

  @Test func theRootsNewsIsHeardOnceByEachOfItsChain() {
    let (root, child, other) = (PermanentIDs(), PermanentIDs(), PermanentIDs())
    #expect(!child.hasNews(from: root))
    root.announce()
    #expect(child.hasNews(from: root) && !child.hasNews(from: root) && other.hasNews(from: root))
  }
}
