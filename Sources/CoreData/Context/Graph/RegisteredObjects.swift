internal import CSystem

/// The objects of one context by ID, at most one for each ID.
///
/// An object is registered under the key and the table of its current ID. It refers to the context from its
/// registration until its release. A clean object without any other reference is abandoned: it may leave at any time,
/// and comes back as a fault.
///
/// Used on the context's queue.
///
/// The table holds each object, which is what keeps one instance for each ID. "Held weakly by the context", as Apple's
/// documentation says, means here: an object to which only the table refers counts as gone. The object's reference
/// count tells it, on two occasions:
///
/// - A fetch or a relationship finds the object. If only the table refers to it, its values are forgotten: it comes
///   back as a fault, like a new instance would.
/// - The table has twice as many objects as after the last search (`sweep`): then all abandoned ones are freed
///   together.
///
/// A weak table would need a weak reference for each object, which makes retaining and releasing the object slower, and
/// an access to its side table for each lookup.
final class RegisteredObjects {
  /// The objects' reference to their context. An object belongs to this table exactly if it has this reference.
  let reference: ContextReference
  /// Whether stores that follow their objects are told of this context's objects.
  var tellsStores = true
  /// The arrivals and departures of objects whose stores follow them; nil before the first. Only an app's own
  /// incremental stores follow objects, so for all others this is one test.
  private var registrations: Registrations?
  /// Whether stores are told later, of many objects together.
  private var isGathering = false
  /// Whether clean objects stay without any other reference, and are not abandoned.
  var keepsUnheld = false
  /// The table, by key and number of the root entity's table.
  private let objects = ObjectIndex<NSManagedObject>()
  /// The number of objects at which abandoned ones are searched next.
  private var sweepThreshold = leastSweepThreshold
  private static let leastSweepThreshold = 4096
  /// The state of an object that is made for a row: a fault, which ConcurrencyDebug checks if it is on.
  private let firstState: NSManagedObject.State = ConcurrencyDebug.isEnabled ? [.fault, .isChecked] : .fault

  init(_ reference: ContextReference) { self.reference = reference }

  deinit {
    if let registrations {
      objects.forEach { registrations.noteDeparture(of: $0) }
      registrations.tell()
    }
    // Members of to-many relationships may hold each other in cycles.
    objects.forEach { $0.toManys = [] }
    let count = objects.count
    objects.removeAll()
    RegisteredObjects.giveBackMemory(of: count)
  }

  /// Gives freed memory back to the system after many objects left together. malloc(3) does not return small blocks by
  /// itself. The call takes less time than freeing the objects did.
  ///
  /// A process that imports in steps, each with a reset, would otherwise seem to use as much memory as its largest step
  /// did.
  static func giveBackMemory(of count: Int) {
    if count >= leastCountToGiveBack { csystem_trim_heap() }
  }

  /// The number of objects from which the call is worth its time.
  static let leastCountToGiveBack = 65_536

  var isEmpty: Bool { objects.count == 0 }
  var count: Int { objects.count }

  /// All objects, in no order.
  var all: [NSManagedObject] {
    var allObjects: [NSManagedObject] = []
    allObjects.reserveCapacity(objects.count)
    objects.forEach { allObjects.append($0) }
    return allObjects
  }

  /// Whether the object belongs to this context.
  @inline(__always)
  func owns(_ object: NSManagedObject) -> Bool { object.reference === reference }

  // MARK: Finding

  /// The object under a key of a table. It may be abandoned: the caller has to know that there is another reference to
  /// it, or use `reuse`.
  @inline(__always)
  func find(_ key: Int64, _ table: Int32) -> NSManagedObject? { objects.find(key, table) }

  /// The object of an ID, under the same condition.
  @inline(__always)
  func find(_ id: NSManagedObjectID) -> NSManagedObject? { objects.find(id.key, id.storedEntity.table) }

  /// The object with this key in its temporary ID. All new objects share one table number, since their keys are unique
  /// in the process.
  @inline(__always)
  func find(temporary key: Int64) -> NSManagedObject? { objects.find(key, StoredEntity.temporaryTable) }

  /// The object for a result. An abandoned one comes back as a fault.
  @inline(__always)
  func reuse(_ key: Int64, _ table: Int32) -> NSManagedObject? {
    guard let (object, isUnheld) = objects.findAndCheck(key, table) else { return nil }
    if isAbandoned(object, isUnheld) { object.forgetValues() }
    return object
  }

  /// The object unless it is abandoned; then it leaves.
  func findHeld(_ id: NSManagedObjectID) -> NSManagedObject? {
    guard let (object, isUnheld) = objects.findAndCheck(id.key, id.storedEntity.table) else { return nil }
    guard isAbandoned(object, isUnheld) else { return object }
    objects.remove(id.key, id.storedEntity.table)
    noteDeparture(of: object)
    return nil
  }

  /// Whether the object may leave without the program noticing: only the table refers to it, and it has no changes.
  @inline(__always)
  private func isAbandoned(_ object: NSManagedObject, _ isUnheld: Bool) -> Bool {
    isUnheld && !keepsUnheld && !object.hasChanges
  }

  // MARK: Coming and going

  /// Creates and registers the object of an ID, with its row if that was read.
  func make(_ storedEntity: StoredEntity, _ key: Int64, snapshot: consuming Snapshot?) -> NSManagedObject {
    sweepIfDue()
    let object = storedEntity.uncountedEntity._withUnsafeGuaranteedRef {
      storedEntity.layout.objectClass.init(unborn: $0)
    }
    object.arrive(from: storedEntity, key: key, row: consume snapshot, in: reference, as: firstState)
    set(object, key, storedEntity)
    return object
  }

  /// Registers an object under its ID: a new one, or one that comes back.
  func add(_ object: NSManagedObject) {
    object.reference = reference
    set(object, object.key, object.storedEntity)
  }

  /// Gives an object another ID, and registers it under that.
  func rename(_ object: NSManagedObject, to id: NSManagedObjectID) {
    drop(object)
    object.become(id)
    set(object, id.key, id.storedEntity)
  }

  /// Registers objects again whose temporary IDs were replaced by permanent ones.
  ///
  /// A save renames each new object, so the references that the table holds are moved, and neither retained nor
  /// released.
  ///
  /// - Parameter keys: the keys before, one for each object; those of temporary IDs are negative.
  func rename(_ objects: [NSManagedObject], from keys: some Sequence<Int64>) {
    // All leave before the first comes back: keys of both kinds would collide.
    let taken = keys.map { $0 < 0 ? self.objects.take($0, StoredEntity.temporaryTable) : nil }
    for (index, key) in zip(taken.indices, keys) where key < 0 {
      let object = objects[index]
      let storedEntity = object.storedEntity
      guard let reference = taken[index], !storedEntity.isFollowed else {
        set(object, object.key, storedEntity)
        taken[index]?.release()
        continue
      }
      self.objects.set(taken: reference, object.key, storedEntity.table)
    }
  }

  /// Removes an object that still refers to the context: observers are about to hear of its deletion.
  func remove(_ object: NSManagedObject) {
    drop(object)
    object.state.insert(.gone)
  }

  /// Puts the object into the table, and notes an arrival for a store that follows its objects.
  @inline(__always)
  private func set(_ object: NSManagedObject, _ key: Int64, _ storedEntity: StoredEntity) {
    let isArrival = storedEntity.isFollowed && objects.find(key, storedEntity.table) == nil
    objects.set(object, key, storedEntity.table)
    if isArrival { noteArrival(of: object) }
  }

  /// Takes the object out of the table, and notes a departure.
  private func drop(_ object: NSManagedObject) {
    let isDeparture = objects.remove(object.key, object.storedEntity.table) != nil
    if isDeparture { noteDeparture(of: object) }
  }

  /// Removes an object. Its values can still be read, and it belongs to no context any more.
  func release(_ object: NSManagedObject) {
    remove(object)
    object.reference = nil
  }

  /// Removes all objects and returns them. They belong to no context any more and have no values.
  func releaseAll() -> [NSManagedObject] {
    let allObjects = self.all
    if let registrations {
      for object in allObjects { registrations.noteDeparture(of: object) }
    }
    for object in allObjects {
      object.reference = nil
      object.snapshot = nil
      object.state = [.fault, .gone]
      object.committed = nil
      object.toManys = []
    }
    objects.removeAll()
    adjustThreshold()
    tellUnlessGathering()
    return allObjects
  }

  // MARK: Dropping abandoned objects

  /// Drops abandoned objects, and sets the number at which it is done again.
  func sweep() {
    guard !keepsUnheld else { return }
    if let registrations {
      objects.removeUnreferenced { object in
        if object.hasChanges { return false }
        registrations.noteDeparture(of: object)
        return true
      }
      tellUnlessGathering()
    } else {
      objects.removeUnreferenced { !$0.hasChanges }
    }
    adjustThreshold()
  }

  /// Drops abandoned objects if the table has doubled. It comes before objects are added: only the table refers to
  /// those that a fetch is making.
  @inline(__always)
  func sweepIfDue() {
    if objects.count >= sweepThreshold { sweep() }
  }

  /// Runs a body that retains the objects that it adds: a search for abandoned objects would find none of them.
  func withoutSweeping<T>(_ body: () throws -> T) rethrows -> T {
    sweepThreshold = .max
    defer { adjustThreshold() }
    return try gathering(body)
  }

  /// Twice the number that stayed: a search costs a step for each object, and so a constant for each object that is
  /// added.
  private func adjustThreshold() { sweepThreshold = max(RegisteredObjects.leastSweepThreshold, objects.count * 2) }

  // MARK: Telling stores

  /// Runs a body that registers many objects, and tells stores of them together.
  func gathering<T>(_ body: () throws -> T) rethrows -> T {
    let isOutermost = !isGathering
    isGathering = true
    defer {
      if isOutermost {
        isGathering = false
        registrations?.tell()
      }
    }
    return try body()
  }

  /// Not inlined: almost no program has a store that follows its objects.
  @inline(never)
  private func noteArrival(of object: NSManagedObject) {
    guard tellsStores else { return }
    let registrations = self.registrations ?? Registrations()
    self.registrations = registrations
    registrations.noteArrival(of: object)
    tellUnlessGathering()
  }

  @inline(__always)
  private func noteDeparture(of object: NSManagedObject) {
    guard let registrations else { return }
    registrations.noteDeparture(of: object)
    tellUnlessGathering()
  }

  /// Tells the stores now, unless a body gathers many objects for one call.
  private func tellUnlessGathering() {
    if !isGathering { registrations?.tell() }
  }
}
