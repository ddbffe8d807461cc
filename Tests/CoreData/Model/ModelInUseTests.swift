import CoreData
import Testing

/// What a model allows beyond the plain case: configurations with gaps, user info that changes, classes without entity.
@Suite struct ModelInUseTests {
  @Test func aConfigurationNeedNotNameSubentities() throws {
    let model = LibraryModel.make()
    let names = ["Author", "Book", "Tag", "Passport"]
    model.setEntities(names.compactMap { model.entitiesByName[$0] }, forConfigurationName: "Local")
    for type in [NSSQLiteStoreType, NSInMemoryStoreType, NSXMLStoreType] {
      let folder = try TemporaryStore()
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        ofType: type, configurationName: "Local", at: folder.folder.appendingPathComponent("local.\(type)"))
      let context = coordinator.context()
      try context.performAndWait {
        context.make("Book", ["title": "One"])
        try context.save()
        context.reset()
        try #expect(context.all("Book").count == 1)
      }
    }
  }

  @Test(arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func aFileThatHasSubentitiesOpensForAConfigurationThatDoesNotNameThem(type: String) throws {
    let model = LibraryModel.make()
    let names = ["Author", "Book", "Tag", "Passport"]
    model.setEntities(names.compactMap { model.entitiesByName[$0] }, forConfigurationName: "Local")
    let folder = try TemporaryStore()
    let url = folder.folder.appendingPathComponent("comics.\(type)")
    for configuration in [nil, "Local"] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(ofType: type, configurationName: configuration, at: url)
      let context = coordinator.context()
      try context.performAndWait {
        if configuration == nil {
          context.make("Comic", ["title": "One"])
          try context.save()
        } else {
          let books = try context.all("Book")
          #expect(books.map { $0.entity.name } == ["Comic"])
        }
      }
    }
  }

  @Test func userInfoOfAModelInUseMayBeSet() throws {
    let model = LibraryModel.make()
    let long = NSFetchedPropertyDescription()
    long.name = "longBooks"
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    request.predicate = NSPredicate(format: "pages > $FETCHED_PROPERTY.userInfo.least")
    long.fetchRequest = request
    long.userInfo = ["least": 100]
    model.entitiesByName["Author"]?.properties.append(long)
    let store = try TemporaryStore(model)
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "short", "pages": 150])
      context.make("Book", ["title": "long", "pages": 500])
      try context.save()
      #expect((author.value(forKey: "longBooks") as? [NSManagedObject])?.count == 2)
      long.userInfo = ["least": 400]
      model.entitiesByName["Book"]?.userInfo?["seen"] = true
      context.refreshAllObjects()
      #expect((author.value(forKey: "longBooks") as? [NSManagedObject])?.map { $0.text("title") } == ["long"])
      #expect(model.entitiesByName["Book"]?.userInfo?["seen"] as? Bool == true)
    }
  }

  private final class Unmodelled: NSManagedObject {}

  @Test func aClassWithoutEntityHasAnEmptyOne() {
    #expect(Unmodelled.entity().name == nil && Unmodelled.entity().properties.isEmpty)
  }

  private final class Shared: NSManagedObject {}

  /// A model whose only entity has the class `Shared`.
  private func sharedModel() -> NSManagedObjectModel {
    let entity = NSEntityDescription()
    entity.name = "Shared"
    entity.managedObjectClassName = NSStringFromClass(Shared.self)
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }

  @Test func aClassHasTheEntityOfTheNewestModelThatACoordinatorUses() {
    let (older, newer) = (sharedModel(), sharedModel())
    do {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: older)
      do {
        let second = NSPersistentStoreCoordinator(managedObjectModel: newer)
        withExtendedLifetime(second) { #expect(Shared.entity().managedObjectModel === newer) }
      }
      // The newer model still exists, but no coordinator uses it.
      withExtendedLifetime(coordinator) { #expect(Shared.entity().managedObjectModel === older) }
    }
    withExtendedLifetime(newer) { #expect(Shared.entity().managedObjectModel === newer) }
  }

  @Test func aFetchedResultsControllerTakesAnEmptyOrder() throws {
    let store = try TemporaryStore()
    try store.save { context in for title in ["a", "b"] { context.make("Book", ["title": title]) } }
    try store.read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = []
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 2)
    }
  }
}
