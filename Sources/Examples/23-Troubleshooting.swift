import CoreData

func troubleshooting(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let id = try await container.write { context in
    let person = Person(context: context)
    person.name = "Ada"
    try context.save()
    return person.objectID
  }
  try await missingValue(container)
  try await oldValues(container, id)
  try await temporaryID(container)
  try await deletedElsewhere(container, id)
  try await otherModel(place)
}

private func missingValue(_ container: NSPersistentContainer) async throws {
  do {
    try await container.write { context in _ = Person(context: context) }
  } catch {
    guard case .validation(let problems) = CoreDataError(error) else { throw error }
    try show("\(problems.map { "\($0.key ?? ""): \($0.code)" })", problems.map(\.key) == ["name"])
  }
}

private func oldValues(_ container: NSPersistentContainer, _ id: NSManagedObjectID) async throws {
  let context = container.newBackgroundContext()
  let names = try await context.perform {
    let person = try context.existingObject(with: id) as? Person
    let before = person?.name
    try container.newBackgroundContext().performAndWaitForRename(id)
    let unchanged = person?.name
    context.refreshAllObjects()
    return [before, unchanged, person?.name]
  }
  try show("before, after another save, refreshed: \(names)", names == ["Ada", "Ada", "Augusta"])
}

extension NSManagedObjectContext {
  fileprivate func performAndWaitForRename(_ id: NSManagedObjectID) throws {
    try performAndWait {
      (try existingObject(with: id) as? Person)?.name = "Augusta"
      try save()
    }
  }
}

private func temporaryID(_ container: NSPersistentContainer) async throws {
  let isTemporary = try await container.performBackgroundTask { context in
    let person = Person(context: context)
    person.name = "Alan"
    let before = person.objectID.isTemporaryID
    try context.save()
    return [before, person.objectID.isTemporaryID]
  }
  try show("temporary before the save, permanent after it", isTemporary == [true, false])
}

private func deletedElsewhere(_ container: NSPersistentContainer, _ id: NSManagedObjectID) async throws {
  try await container.write { context in context.delete(context.object(with: id)) }
  do {
    try await container.read { context in _ = try context.existingObject(with: id) }
  } catch CocoaError.managedObjectReferentialIntegrity {
    try show("the object has no row any more: 133000")
  }
}

private func otherModel(_ place: Place) async throws {
  let changed = try NSManagedObjectModel {
    NSEntityDescription("Person") {
      NSAttributeDescription("name", .string, isOptional: false)
      NSAttributeDescription("born", .date)
    }
  }
  let options = [NSMigratePersistentStoresAutomaticallyOption: false]
  do {
    _ = try NSPersistentStoreCoordinator(managedObjectModel: changed)
      .addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place.store, options: options)
  } catch {
    try show("the store has another model: \((error as NSError).code)", CoreDataError(error) == .migrationNeeded)
  }
}
