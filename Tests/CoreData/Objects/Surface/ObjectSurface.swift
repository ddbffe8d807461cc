import CoreData

// Compiling these files is the test: they use every member of Apple's API that apps and serious libraries use, with its
// type, so that removing or changing one breaks the build. Nothing here runs.

private final class Note: NSManagedObject {
  var title: String? {
    get { primitiveValue(forKey: "title") as? String }
    set { setPrimitiveValue(newValue, forKey: "title") }
  }

  override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
  }

  override class func entity() -> NSEntityDescription { super.entity() }
  override class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> { super.fetchRequest() }
  @nonobjc class func fetchRequest() -> NSFetchRequest<Note> { NSFetchRequest<Note>(entityName: "Note") }
  override class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  override func awakeFromInsert() { super.awakeFromInsert() }
  override func awakeFromFetch() { super.awakeFromFetch() }
  override func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) { super.awakeFromSnapshotEvents(flags) }
  override func willSave() { super.willSave() }
  override func didSave() { super.didSave() }
  override func prepareForDeletion() { super.prepareForDeletion() }
  override func willTurnIntoFault() { super.willTurnIntoFault() }
  override func didTurnIntoFault() { super.didTurnIntoFault() }
  override func validateForInsert() throws { try super.validateForInsert() }
  override func validateForUpdate() throws { try super.validateForUpdate() }
  override func validateForDelete() throws { try super.validateForDelete() }
}

private func objects(_ object: NSManagedObject, _ note: Note, _ context: NSManagedObjectContext) throws {
  _ = NSManagedObject(entity: object.entity, insertInto: context)
  _ = Note(context: context)
  let type: NSManagedObject.Type = Note.self
  _ = type.init(context: context)
  let _: NSEntityDescription = Note.entity()
  let _: NSFetchRequest<Note> = Note.fetchRequest()
  let _: NSFetchRequest<any NSFetchRequestResult> = NSManagedObject.fetchRequest()

  let _: NSManagedObjectContext? = object.managedObjectContext
  let _: NSEntityDescription = object.entity
  let _: NSManagedObjectID = object.objectID
  let _: [Bool] = [object.isInserted, object.isUpdated, object.isDeleted, object.isFault, object.hasChanges]
  let _: Int = object.faultingState

  let _: Any? = object.value(forKey: "a")
  object.setValue(1, forKey: "a")
  let _: Any? = object.value(forKeyPath: "a.b")
  object.setValue(1, forKeyPath: "a.b")
  let _: [String: Any] = object.dictionaryWithValues(forKeys: ["a"])
  object.setValuesForKeys(["a": 1])

  let _: [String: Any] = object.changedValues()
  let _: [String: Any] = object.committedValues(forKeys: nil)
  let _: [String: Any] = object.changedValuesForCurrentEvent()
  let _: Bool = object.hasPersistentChangedValues
  let _: Any? = object.primitiveValue(forKey: "a")
  object.setPrimitiveValue(nil, forKey: "a")
  object.willAccessValue(forKey: nil)
  object.didAccessValue(forKey: "a")
  object.willChangeValue(forKey: "a")
  object.didChangeValue(forKey: "a")
  let changed: Set<AnyHashable> = [note]
  object.willChangeValue(forKey: "as", withSetMutation: .union, using: changed)
  object.didChangeValue(forKey: "as", withSetMutation: .union, using: changed)
  var value: Any?
  try object.validateValue(&value, forKey: "a")
  try object.validateForInsert()
  try object.validateForUpdate()
  try object.validateForDelete()
  let _: NSMutableSet = object.mutableSetValue(forKey: "as")
  let _: NSMutableOrderedSet = object.mutableOrderedSetValue(forKey: "as")
  let _: NSMutableSet = object.mutableSetValue(forKeyPath: "as")
  let _: NSMutableOrderedSet = object.mutableOrderedSetValue(forKeyPath: "as")
  let _: [NSManagedObjectID] = object.objectIDs(forRelationshipNamed: "as")
  let _: Bool = object.hasFault(forRelationshipNamed: "as")
  object.awakeFromInsert()
  object.awakeFromFetch()
  object.willSave()
  object.didSave()
  object.prepareForDeletion()
  object.willTurnIntoFault()
  object.didTurnIntoFault()
  let _: NSSnapshotEventType = [
    .undoInsertion, .undoDeletion, .undoUpdate, .rollback, .refresh, .mergePolicy,
  ]
  let _: NSKeyValueObservation = note.observe(\.title, options: [.initial, .old, .new, .prior]) { note, change in
    let _: (Note, String??, String??, NSKeyValueChange, Bool) = (
      note, change.oldValue, change.newValue, change.kind, change.isPrior
    )
  }
  let _: any Hashable = object
  let _: any NSFetchRequestResult = object
}

private func identifiers(_ id: NSManagedObjectID) {
  let _: NSEntityDescription = id.entity
  let _: NSPersistentStore? = id.persistentStore
  let _: Bool = id.isTemporaryID
  let _: URL = id.uriRepresentation()
  let _: any NSCopying & NSFetchRequestResult & Sendable & Hashable = id
}
