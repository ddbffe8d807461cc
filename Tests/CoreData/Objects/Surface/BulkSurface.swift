import CoreData

private func inserting(_ entity: NSEntityDescription) {
  let request = NSBatchInsertRequest(entityName: "A", objects: [["a": 1]])
  _ = NSBatchInsertRequest(entity: entity, objects: [["a": 1]])
  _ = NSBatchInsertRequest(entityName: "A", dictionaryHandler: { (_: NSMutableDictionary) in true })
  _ = NSBatchInsertRequest(entity: entity, dictionaryHandler: { (_: NSMutableDictionary) in true })
  _ = NSBatchInsertRequest(entityName: "A", managedObjectHandler: { (_: NSManagedObject) in true })
  _ = NSBatchInsertRequest(entity: entity, managedObjectHandler: { (_: NSManagedObject) in true })
  let _: (String, NSEntityDescription?) = (request.entityName, request.entity)
  let _: [[String: Any]]? = request.objectsToInsert
  request.objectsToInsert = []
  let _: ((NSMutableDictionary) -> Bool)? = request.dictionaryHandler
  let _: ((NSManagedObject) -> Bool)? = request.managedObjectHandler
  let _: [NSBatchInsertRequestResultType] = [.statusOnly, .objectIDs, .count, request.resultType]
  request.resultType = .count
  let result: NSBatchInsertResult? = nil
  let _: (Any?, NSBatchInsertRequestResultType?) = (result?.result, result?.resultType)
}

private func updating(_ entity: NSEntityDescription) {
  let request = NSBatchUpdateRequest(entityName: "A")
  _ = NSBatchUpdateRequest(entity: entity)
  let _: (String, NSEntityDescription) = (request.entityName, request.entity)
  let _: NSPredicate? = request.predicate
  request.predicate = nil
  request.includesSubentities = !request.includesSubentities
  let _: [AnyHashable: Any]? = request.propertiesToUpdate
  request.propertiesToUpdate = ["a": CoreData.NSExpression(forConstantValue: 1)]
  let _: [NSBatchUpdateRequestResultType] = [
    .statusOnlyResultType, .updatedObjectIDsResultType, .updatedObjectsCountResultType, request.resultType,
  ]
  request.resultType = .updatedObjectIDsResultType
  let result: NSBatchUpdateResult? = nil
  let _: (Any?, NSBatchUpdateRequestResultType?) = (result?.result, result?.resultType)
}

private func deleting(_ ids: [NSManagedObjectID]) {
  let request = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "A"))
  _ = NSBatchDeleteRequest(objectIDs: ids)
  let _: NSFetchRequest<any NSFetchRequestResult> = request.fetchRequest
  let _: [NSBatchDeleteRequestResultType] = [
    .resultTypeStatusOnly, .resultTypeObjectIDs, .resultTypeCount, request.resultType,
  ]
  request.resultType = .resultTypeObjectIDs
  let result: NSBatchDeleteResult? = nil
  let _: (Any?, NSBatchDeleteRequestResultType?) = (result?.result, result?.resultType)
  let _: [NSPersistentStoreRequestType] = [
    .fetchRequestType, .saveRequestType, .batchInsertRequestType, .batchUpdateRequestType, .batchDeleteRequestType,
    request.requestType,
  ]
  let _: [NSPersistentStore]? = request.affectedStores
}

private func history(_ token: NSPersistentHistoryToken, _ context: NSManagedObjectContext) {
  typealias Request = NSPersistentHistoryChangeRequest
  let request: Request = Request.fetchHistory(after: Date())
  let transactionBefore: NSPersistentHistoryTransaction? = nil
  _ = Request.fetchHistory(after: token)
  _ = Request.fetchHistory(after: nil as NSPersistentHistoryToken?)
  _ = Request.fetchHistory(after: transactionBefore)
  _ = Request.fetchHistory(withFetch: NSFetchRequest<any NSFetchRequestResult>(entityName: "Transaction"))
  _ = Request.deleteHistory(before: Date())
  _ = Request.deleteHistory(before: token)
  _ = Request.deleteHistory(before: transactionBefore)
  let _: [NSPersistentHistoryResultType] = [
    .statusOnly, .objectIDs, .count, .transactionsOnly, .changesOnly, .transactionsAndChanges, request.resultType,
  ]
  request.resultType = .changesOnly
  let _: NSPersistentHistoryToken? = request.token
  let _: NSFetchRequest<any NSFetchRequestResult>? = request.fetchRequest
  request.fetchRequest = nil
  let result: NSPersistentHistoryResult? = nil
  let _: (Any?, NSPersistentHistoryResultType?) = (result?.result, result?.resultType)
  let _: any NSCopying & NSSecureCoding & Sendable = token
}

private func changes(
  _ transaction: NSPersistentHistoryTransaction, _ change: NSPersistentHistoryChange, _ context: NSManagedObjectContext
) {
  let _: Date = transaction.timestamp
  let _: [NSPersistentHistoryChange]? = transaction.changes
  let _: Int64 = transaction.transactionNumber
  let _: (String, String, String) = (transaction.storeID, transaction.bundleID, transaction.processID)
  let _: (String?, String?) = (transaction.contextName, transaction.author)
  let _: NSPersistentHistoryToken = transaction.token
  let _: Notification = transaction.objectIDNotification()
  let _: NSEntityDescription? = NSPersistentHistoryTransaction.entityDescription
  let _: NSEntityDescription? = NSPersistentHistoryTransaction.entityDescription(with: context)
  let _: NSFetchRequest<any NSFetchRequestResult>? = NSPersistentHistoryTransaction.fetchRequest
  let _: Int64 = change.changeID
  let _: NSManagedObjectID = change.changedObjectID
  let _: [NSPersistentHistoryChangeType] = [.insert, .update, .delete, change.changeType]
  let _: [AnyHashable: Any]? = change.tombstone
  let _: NSPersistentHistoryTransaction? = change.transaction
  let _: Set<NSPropertyDescription>? = change.updatedProperties
  let _: NSEntityDescription? = NSPersistentHistoryChange.entityDescription
  let _: NSEntityDescription? = NSPersistentHistoryChange.entityDescription(with: context)
  let _: NSFetchRequest<any NSFetchRequestResult>? = NSPersistentHistoryChange.fetchRequest
}

// MARK: Migration, so far as it is inferred

private func migrating(_ model: NSManagedObjectModel, _ url: URL) throws {
  let mapping: NSMappingModel = try NSMappingModel.inferredMappingModel(
    forSourceModel: model, destinationModel: model)
  let _: NSMappingModel? = NSMappingModel(from: nil, forSourceModel: model, destinationModel: model)
  let _: NSMappingModel? = NSMappingModel(contentsOf: url)
  let _: [NSEntityMapping]? = mapping.entityMappings
  let _: [String: NSEntityMapping] = mapping.entityMappingsByName
  let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  try manager.migrateStore(
    from: url, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: url,
    destinationType: NSSQLiteStoreType, destinationOptions: nil)
  try manager.migrateStore(
    from: url, type: .sqlite, options: nil, mapping: mapping, to: url, type: .sqlite, options: nil)
  let _: Float = manager.migrationProgress
  let _: (NSManagedObjectModel, NSManagedObjectModel) = (manager.sourceModel, manager.destinationModel)
  let entity = mapping.entityMappings?.first
  let _: (String?, String?, String?) = (entity?.name, entity?.sourceEntityName, entity?.destinationEntityName)
  let _: [NSPropertyMapping]? = entity?.attributeMappings
  let _: [NSPropertyMapping]? = entity?.relationshipMappings
  let _: [NSEntityMappingType?] = [
    entity?.mappingType, .undefinedEntityMappingType, .customEntityMappingType, .addEntityMappingType,
    .removeEntityMappingType, .copyEntityMappingType, .transformEntityMappingType,
  ]
  let _: String? = entity?.attributeMappings?.first?.name
  let _: CoreData.NSExpression? = entity?.attributeMappings?.first?.valueExpression
}

// MARK: Errors

private func errors() {
  let _: [String] = [
    NSDetailedErrorsKey, NSValidationObjectErrorKey, NSValidationKeyErrorKey, NSValidationPredicateErrorKey,
    NSValidationValueErrorKey, NSAffectedStoresErrorKey, NSAffectedObjectsErrorKey,
    NSPersistentStoreSaveConflictsErrorKey,
  ]
  let _: [Int] = [
    NSManagedObjectValidationError, NSManagedObjectConstraintValidationError, NSValidationMultipleErrorsError,
    NSValidationMissingMandatoryPropertyError, NSManagedObjectMergeError, NSManagedObjectConstraintMergeError,
    NSPersistentStoreIncompatibleVersionHashError, NSMigrationMissingSourceModelError,
  ]
  let _: [CocoaError.Code] = [
    .managedObjectValidation, .managedObjectConstraintValidation, .validationMultipleErrors,
    .validationMissingMandatoryProperty, .validationRelationshipLacksMinimumCount,
    .validationRelationshipExceedsMaximumCount, .validationRelationshipDeniedDelete, .validationNumberTooLarge,
    .validationNumberTooSmall, .validationDateTooLate, .validationDateTooSoon, .validationInvalidDate,
    .validationStringTooLong, .validationStringTooShort, .validationStringPatternMatching, .validationInvalidURI,
    .managedObjectContextLocking, .persistentStoreCoordinatorLocking, .managedObjectReferentialIntegrity,
    .managedObjectExternalRelationship, .managedObjectMerge, .managedObjectConstraintMerge,
    .persistentStoreInvalidType, .persistentStoreTypeMismatch, .persistentStoreIncompatibleSchema,
    .persistentStoreSave, .persistentStoreIncompleteSave, .persistentStoreSaveConflicts, .coreData,
    .persistentStoreOperation, .persistentStoreOpen, .persistentStoreTimeout, .persistentStoreUnsupportedRequestType,
    .persistentStoreIncompatibleVersionHash, .migration, .migrationConstraintViolation, .migrationCancelled,
    .migrationMissingSourceModel, .migrationMissingMappingModel, .migrationManagerSourceStore,
    .migrationManagerDestinationStore, .entityMigrationPolicy, .sqlite, .inferredMappingModel,
    .externalRecordImport, .persistentHistoryTokenExpired,
  ]
}
