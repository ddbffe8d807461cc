import CoreData

// `@unchecked Sendable` as its superclass is; it is compiled, never used.
private final class Context: NSManagedObjectContext, @unchecked Sendable {
  override var hasChanges: Bool { super.hasChanges }
  override var parent: NSManagedObjectContext? {
    get { super.parent }
    set { super.parent = newValue }
  }
  override func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool { super.shouldHandleInaccessibleFault(fault, for: oid, triggeredByProperty: property) }
}

private func making() {
  let _: NSManagedObjectContext = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  let _: [NSManagedObjectContextConcurrencyType] = [
    .confinementConcurrencyType, .privateQueueConcurrencyType, .mainQueueConcurrencyType,
  ]
  _ = NSManagedObjectContext(.mainQueue)
  let _: NSManagedObjectContext.ConcurrencyType = .privateQueue
  let _: NSManagedObjectContext.ScheduledTaskType = .enqueued
}

@available(*, deprecated)
private func confined() { _ = NSManagedObjectContext() }

private func one() throws -> Int { 1 }

private func queues(_ context: NSManagedObjectContext) throws {
  context.perform {}
  context.performAndWait {}
  let _: Int = context.performAndWait { 1 }
  let _: Int = try context.performAndWait { try one() }
}

private func queues(_ context: NSManagedObjectContext) async throws {
  let _: Int = await context.perform { 1 }
  let _: Int = try await context.perform(schedule: .enqueued) { try one() }
  await context.perform(schedule: .immediate) {}
}

private func properties(_ context: NSManagedObjectContext, _ object: NSManagedObject) {
  let _: NSPersistentStoreCoordinator? = context.persistentStoreCoordinator
  context.persistentStoreCoordinator = nil
  let _: NSManagedObjectContext? = context.parent
  context.parent = nil
  let _: String? = context.name
  context.name = "a"
  let _: NSMutableDictionary = context.userInfo
  let _: NSManagedObjectContextConcurrencyType = context.concurrencyType
  let _: Bool = context.hasChanges
  let _: [Set<NSManagedObject>] = [
    context.insertedObjects, context.updatedObjects, context.deletedObjects, context.registeredObjects,
  ]
  let _: Bool = context.automaticallyMergesChangesFromParent
  context.automaticallyMergesChangesFromParent = true
  let _: Any = context.mergePolicy
  context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
  context.mergePolicy = NSMergePolicy.overwrite
  let _: String? = context.transactionAuthor
  context.transactionAuthor = "a"
  let _: UndoManager? = context.undoManager
  context.undoManager = UndoManager()
  let _: TimeInterval = context.stalenessInterval
  context.stalenessInterval = 0
  context.shouldDeleteInaccessibleFaults = !context.shouldDeleteInaccessibleFaults
  context.retainsRegisteredObjects = !context.retainsRegisteredObjects
  context.propagatesDeletesAtEndOfEvent = !context.propagatesDeletesAtEndOfEvent
  let _: NSQueryGenerationToken? = context.queryGenerationToken
}

private func objects(_ context: NSManagedObjectContext, _ object: NSManagedObject, _ store: NSPersistentStore) throws {
  let request = NSFetchRequest<NSManagedObject>(entityName: "A")
  let _: [NSManagedObject] = try context.fetch(request)
  let _: [Any] = try context.fetch(NSManagedObject.fetchRequest())
  let _: Int = try context.count(for: request)
  let _: NSPersistentStoreResult = try context.execute(NSBatchDeleteRequest(objectIDs: []))
  context.insert(object)
  context.delete(object)
  try context.save()
  context.rollback()
  context.reset()
  context.undo()
  context.redo()
  let _: NSManagedObject = context.object(with: object.objectID)
  let _: NSManagedObject = try context.existingObject(with: object.objectID)
  let _: NSManagedObject? = context.registeredObject(for: object.objectID)
  context.refresh(object, mergeChanges: true)
  context.refreshAllObjects()
  try context.obtainPermanentIDs(for: [object])
  context.processPendingChanges()
  context.assign(object, to: store)
  try context.setQueryGenerationFrom(.current)
  context.detectConflicts(for: object)
  _ = context.shouldHandleInaccessibleFault(object, for: object.objectID, triggeredByProperty: nil)
}

private func merging(_ context: NSManagedObjectContext, _ notification: Notification) {
  context.mergeChanges(fromContextDidSave: notification)
  NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: []], into: [context])
  let _: [Notification.Name] = [
    .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave, .NSManagedObjectContextObjectsDidChange,
    .NSManagedObjectContextDidSaveObjectIDs, .NSManagedObjectContextDidMergeChangesObjectIDs,
    NSManagedObjectContext.willSaveObjectsNotification, NSManagedObjectContext.didSaveObjectsNotification,
    NSManagedObjectContext.didChangeObjectsNotification, NSManagedObjectContext.didSaveObjectIDsNotification,
    NSManagedObjectContext.didMergeChangesObjectIDsNotification,
  ]
  let _: [NSManagedObjectContext.NotificationKey] = [
    .insertedObjects, .updatedObjects, .deletedObjects, .refreshedObjects, .invalidatedObjects,
    .invalidatedAllObjects, .insertedObjectIDs, .updatedObjectIDs, .deletedObjectIDs, .refreshedObjectIDs,
    .invalidatedObjectIDs, .queryGeneration,
  ]
  let _: [String] = [
    NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey, NSInvalidatedObjectsKey,
    NSInvalidatedAllObjectsKey, NSInsertedObjectIDsKey, NSUpdatedObjectIDsKey, NSDeletedObjectIDsKey,
    NSRefreshedObjectIDsKey, NSInvalidatedObjectIDsKey, NSManagedObjectContextQueryGenerationKey,
  ]
}

@MainActor private func messages(_ context: NSManagedObjectContext) async {
  let center = NotificationCenter.default
  _ = center.addObserver(of: context, for: .willSave) { _ in }
  _ = center.addObserver(of: context, for: .didSave) { _ in }
  _ = center.addObserver(of: context, for: .didSaveObjectIDs) { _ in }
  _ = center.addObserver(of: context, for: .objectsDidChange) { _ in }
  _ = center.addObserver(of: context, for: .didMergeChanges) { _ in }
  _ = center.messages(of: context, for: .didSaveObjectIDsAsync)
  _ = center.messages(of: context, for: .didMergeChangesAsync)
}

// MARK: Merge policies

// `@unchecked Sendable` as its superclass is; it is compiled, never used.
private final class Policy: NSMergePolicy, @unchecked Sendable {
  override func resolve(mergeConflicts list: [Any]) throws { try super.resolve(mergeConflicts: list) }
  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    try super.resolve(optimisticLockingConflicts: list)
  }
  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    try super.resolve(constraintConflicts: list)
  }
}

private func policies(_ conflict: NSMergeConflict, _ constraint: NSConstraintConflict) {
  let policy: NSMergePolicy = Policy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  let _: NSMergePolicyType = policy.mergeType
  let _: [NSMergePolicyType] = [
    .errorMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
    .overwriteMergePolicyType, .rollbackMergePolicyType,
  ]
  let _: [NSMergePolicy] = [
    .error, .rollback, .overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump,
  ]
  let _: [Any] = [
    NSErrorMergePolicy, NSMergeByPropertyStoreTrumpMergePolicy, NSMergeByPropertyObjectTrumpMergePolicy,
    NSOverwriteMergePolicy, NSRollbackMergePolicy,
  ]
  let _: NSManagedObject = conflict.sourceObject
  let _: [[String: Any]?] = [conflict.objectSnapshot, conflict.cachedSnapshot, conflict.persistedSnapshot]
  let _: [Int] = [conflict.newVersionNumber, conflict.oldVersionNumber]
  _ = NSMergeConflict(
    source: conflict.sourceObject, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
  let _: [String] = constraint.constraint
  let _: [String: Any] = constraint.constraintValues
  let _: NSManagedObject? = constraint.databaseObject
  let _: [String: Any]? = constraint.databaseSnapshot
  let _: [NSManagedObject] = constraint.conflictingObjects
  let _: [[AnyHashable: Any]] = constraint.conflictingSnapshots
  _ = NSConstraintConflict(
    constraint: ["a"], databaseObject: nil, databaseSnapshot: nil, conflictingObjects: [], conflictingSnapshots: [])
}

private func generations(_ token: NSQueryGenerationToken) {
  let _: NSQueryGenerationToken = .current
  let _: any NSCopying & NSSecureCoding = token
}
