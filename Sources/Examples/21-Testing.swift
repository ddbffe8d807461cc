import CoreData

func testing(_ place: Place) async throws {
  try await oneStoreEach(place)
  try await waitForEvents(place)
  try await plan(place)
  try await formerVersion(place)
}

/// A container whose store is a SQLite database in memory, which is gone with the container.
private func emptyContainer(_ model: NSManagedObjectModel) async throws -> NSPersistentContainer {
  let container = NSPersistentContainer(name: "Test", managedObjectModel: model)
  container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
  let error: (any Error)? = await withCheckedContinuation { continuation in
    container.loadPersistentStores { _, error in continuation.resume(returning: error) }
  }
  if let error { throw error }
  return container
}

private func oneStoreEach(_ place: Place) async throws {
  let first = try await emptyContainer(place.model)
  let second = try await emptyContainer(place.model)
  try await first.write { context in
    let person = Person(context: context)
    person.name = "Ada"
  }
  let counts = try await [first, second].asyncCounts()
  try show("two tests, two stores: \(counts)", counts == [1, 0])
}

extension [NSPersistentContainer] {
  fileprivate func asyncCounts() async throws -> [Int] {
    var counts: [Int] = []
    for container in self {
      counts.append(try await container.read { context in try context.count(for: Person.fetchRequest()) })
    }
    return counts
  }
}

private func waitForEvents(_ place: Place) async throws {
  let container = try await emptyContainer(place.model)
  let view = container.newBackgroundContext()
  await view.perform { view.automaticallyMergesChangesFromParent = true }
  let counts = view.values(for: NSFetchRequest<Person>(entityName: "Person")) { $0.name ?? "" }
  try await container.write { context in
    let person = Person(context: context)
    person.name = "Ada"
  }
  for try await names in counts where Array(names) == ["Ada"] { break }
  try show("the view shows what the background saved")
}

private func plan(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let request = { @Sendable in
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "email == %@", "ada@example.org")
    return request
  }
  let plan = try await container.read { context in
    try context.explain(request()).statements.flatMap(\.plan).joined(separator: "\n")
  }
  try show("the fetch uses an index: \(plan)", plan.contains("USING INDEX"))
}

private func formerVersion(_ place: Place) async throws {
  // Stands for the store of a released version, which a test keeps as a file.
  let released = place.store
  let copy = place.folder.appendingPathComponent("copy.sqlite")
  try NSPersistentStoreCoordinator(managedObjectModel: place.model)
    .replacePersistentStore(
      at: copy, destinationOptions: nil, withPersistentStoreFrom: released, sourceOptions: nil, type: .sqlite)
  let container = NSPersistentContainer(name: "Released", managedObjectModel: place.model)
  container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: copy)]
  let error: (any Error)? = await withCheckedContinuation { continuation in
    container.loadPersistentStores { _, error in continuation.resume(returning: error) }
  }
  try show("the released version's store opens with this model", error == nil)
}
