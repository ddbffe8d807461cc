import CoreData

@MainActor func container(_ place: Place) async throws {
  // A container holds a model, a coordinator with its stores, and a main-queue context.
  guard let url = Bundle.module.url(forResource: "Contacts", withExtension: "momd"),
    let model = NSManagedObjectModel(contentsOf: url)
  else { throw Unexpected("no model") }
  let container = NSPersistentContainer(name: "Contacts", managedObjectModel: model)

  // Descriptions say which stores to open. The default is NAME.sqlite in the application support directory.
  let description = NSPersistentStoreDescription(url: place.store)
  description.shouldAddStoreAsynchronously = true
  description.setValue("NORMAL" as NSString, forPragmaNamed: "synchronous")
  container.persistentStoreDescriptions = [description]

  // Stores that load asynchronously call the handler later, on another queue.
  let error: (any Error)? = await withCheckedContinuation { continuation in
    container.loadPersistentStores { _, error in continuation.resume(returning: error) }
  }
  if let error { throw error }
  try show("loaded \(container.persistentStoreCoordinator.persistentStores.count) store")

  // The view context belongs to the main queue. Create other contexts for work in the background.
  let background = container.newBackgroundContext()
  background.name = "import"
  try await background.perform {
    let team = Team(context: background)
    team.name = "Analysts"
    try background.save()
  }

  // A context for a single task: with a callback, or awaited.
  let count = try await container.performBackgroundTask { context in
    let person = Person(context: context)
    person.name = "Ada"
    person.team = try context.fetch(Team.fetchRequest()).first
    try context.save()
    return try context.count(for: Person.fetchRequest())
  }

  // The same with a save at the end. If the closure throws, nothing is saved.
  try await container.write { context in
    for person in try context.fetch(Person.fetchRequest()) { person.age += 1 }
  }
  let ages = try await container.read { context in try context.fetch(Person.fetchRequest()).map { $0.age } }
  try show("Ada is \(ages.first ?? 0)", ages == [1])

  let members = try container.viewContext.fetch(Team.fetchRequest()).first?.members?.count
  try show("the view context sees a team with \(members ?? 0) of \(count) people", members == 1)
}
