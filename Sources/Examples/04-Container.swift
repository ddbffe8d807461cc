import CoreData

@MainActor func container(_ place: Place) async throws {
  // A container is model, coordinator, stores and a main-queue context in one.
  guard let url = Bundle.module.url(forResource: "Contacts", withExtension: "momd"),
    let model = NSManagedObjectModel(contentsOf: url)
  else { throw Unexpected("no model") }
  let container = NSPersistentContainer(name: "Contacts", managedObjectModel: model)

  // Descriptions say which stores there are; without any it is NAME.sqlite in the application support directory.
  let description = NSPersistentStoreDescription(url: place.store)
  description.shouldAddStoreAsynchronously = true
  description.setValue("NORMAL" as NSString, forPragmaNamed: "synchronous")
  container.persistentStoreDescriptions = [description]

  // Loaded asynchronously, the handler runs later, on a queue of its own.
  let error: (any Error)? = await withCheckedContinuation { continuation in
    container.loadPersistentStores { _, error in continuation.resume(returning: error) }
  }
  if let error { throw error }
  try show("loaded \(container.persistentStoreCoordinator.persistentStores.count) store")

  // The view context is for the main queue; others are made for work in the background.
  let background = container.newBackgroundContext()
  background.name = "import"
  try await background.perform {
    let team = Team(context: background)
    team.name = "Analysts"
    try background.save()
  }

  // Or one for a single task: with a callback, or awaited.
  let count = try await container.performBackgroundTask { context in
    let person = Person(context: context)
    person.name = "Ada"
    person.team = try context.fetch(Team.fetchRequest()).first
    try context.save()
    return try context.count(for: Person.fetchRequest())
  }
  let members = try container.viewContext.fetch(Team.fetchRequest()).first?.members?.count
  try show("the view context sees a team with \(members ?? 0) of \(count) people", members == 1)
}
