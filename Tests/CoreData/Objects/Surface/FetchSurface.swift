import CoreData

private func requests(_ request: NSFetchRequest<NSManagedObject>, _ entity: NSEntityDescription) throws {
  _ = NSFetchRequest<NSManagedObject>()
  _ = NSFetchRequest<NSDictionary>(entityName: "A")
  let _: [NSManagedObject] = try request.execute()
  request.entity = entity
  let _: (NSEntityDescription?, String?) = (request.entity, request.entityName)
  let _: NSPredicate? = request.predicate
  request.predicate = NSPredicate(format: "a == %@", "b")
  let _: [NSSortDescriptor]? = request.sortDescriptors
  request.sortDescriptors = [NSSortDescriptor(key: "a", ascending: true)]
  request.fetchLimit = 1
  request.fetchOffset = 1
  request.fetchBatchSize = 1
  let _: [Int] = [request.fetchLimit, request.fetchOffset, request.fetchBatchSize]
  let _: [NSPersistentStore]? = request.affectedStores
  request.affectedStores = nil
  let _: NSFetchRequestResultType = [
    .managedObjectResultType, .managedObjectIDResultType, .dictionaryResultType, .countResultType, request.resultType,
  ]
  request.resultType = .countResultType
  request.includesSubentities = !request.includesSubentities
  request.includesPropertyValues = !request.includesPropertyValues
  request.returnsObjectsAsFaults = !request.returnsObjectsAsFaults
  request.includesPendingChanges = !request.includesPendingChanges
  request.returnsDistinctResults = !request.returnsDistinctResults
  request.shouldRefreshRefetchedObjects = !request.shouldRefreshRefetchedObjects
  let _: [String]? = request.relationshipKeyPathsForPrefetching
  request.relationshipKeyPathsForPrefetching = ["a"]
  let _: [Any]? = request.propertiesToFetch
  request.propertiesToFetch = ["a"]
  let _: [Any]? = request.propertiesToGroupBy
  request.propertiesToGroupBy = ["a"]
  let _: NSPredicate? = request.havingPredicate
  request.havingPredicate = nil
  let _: any NSCopying = request
  let _: NSPersistentStoreRequestType = request.requestType
  let _: [any NSFetchRequestResult.Type] = [
    NSManagedObject.self, NSManagedObjectID.self, NSDictionary.self, NSNumber.self,
  ]
}

private func asynchronously(_ request: NSFetchRequest<NSManagedObject>, _ context: NSManagedObjectContext) throws {
  let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
    let _: [NSManagedObject]? = result.finalResult
    let _: Progress? = result.progress
    let _: (any Error)? = result.operationError
    let _: NSManagedObjectContext = result.managedObjectContext
    let _: NSAsynchronousFetchRequest<NSManagedObject> = result.fetchRequest
    result.cancel()
  }
  asynchronous.estimatedResultCount = asynchronous.estimatedResultCount + 1
  let _: NSFetchRequest<NSManagedObject> = asynchronous.fetchRequest
  let _: ((NSAsynchronousFetchResult<NSManagedObject>) -> Void)? = asynchronous.completionBlock
  let _: NSPersistentStoreResult = try context.execute(asynchronous)
  let _: NSPersistentStoreAsynchronousResult? = nil
}

private func expression(_ context: NSManagedObjectContext) {
  let expression = NSFetchRequestExpression.expression(
    forFetch: CoreData.NSExpression(forConstantValue: 1), context: CoreData.NSExpression(forConstantValue: context),
    countOnly: true)
  let _: CoreData.NSExpression = expression
}

// MARK: Fetched results

private final class Table: NSObject, NSFetchedResultsControllerDelegate {
  typealias Controller = NSFetchedResultsController<any NSFetchRequestResult>

  func controllerWillChangeContent(_ controller: Controller) {}
  func controller(
    _ controller: Controller, didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType,
    newIndexPath: IndexPath?
  ) {
    switch type {
    case .insert, .delete, .move, .update: break
    @unknown default: break
    }
  }
  func controller(
    _ controller: Controller, didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}
  func controllerDidChangeContent(_ controller: Controller) {}
  func controller(_ controller: Controller, sectionIndexTitleForSectionName sectionName: String) -> String? { nil }
  func controller(
    _ controller: Controller, didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {}
}

private func results(_ request: NSFetchRequest<NSManagedObject>, _ context: NSManagedObjectContext) throws {
  let controller = NSFetchedResultsController(
    fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "a", cacheName: "c")
  let delegate = Table()
  controller.delegate = delegate
  let _: (any NSFetchedResultsControllerDelegate)? = controller.delegate
  try controller.performFetch()
  let _: [NSManagedObject]? = controller.fetchedObjects
  let object: NSManagedObject = controller.object(at: IndexPath(indexes: [0, 0]))
  let _: IndexPath? = controller.indexPath(forObject: object)
  let sections: [any NSFetchedResultsSectionInfo]? = controller.sections
  let _: [String] = controller.sectionIndexTitles
  let _: Int = controller.section(forSectionIndexTitle: "A", at: 0)
  let _: String? = controller.sectionIndexTitle(forSectionName: "A")
  NSFetchedResultsController<NSManagedObject>.deleteCache(withName: nil)
  let _: NSFetchRequest<NSManagedObject> = controller.fetchRequest
  let _: NSManagedObjectContext = controller.managedObjectContext
  let _: (String?, String?) = (controller.sectionNameKeyPath, controller.cacheName)
  for section in sections ?? [] {
    let _: (String, String?, Int, [Any]?) = (
      section.name, section.indexTitle, section.numberOfObjects, section.objects
    )
  }
}
