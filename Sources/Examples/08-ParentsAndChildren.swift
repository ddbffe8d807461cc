import CoreData

@MainActor func parentsAndChildren(_ place: Place) async throws {
  let container = try place.loadedContainer()

  // A private root that writes the file, the main context below it, and a temporary child of the main context for a
  // form.
  let root = container.newBackgroundContext()
  let main = NSManagedObjectContext(.mainQueue)
  main.parent = root
  let (form, sibling) = (NSManagedObjectContext(.mainQueue), NSManagedObjectContext(.mainQueue))
  (form.parent, sibling.parent) = (main, main)

  // A child's save goes one level up and not to disk. Siblings see its changes once their parent has them.
  let person = Person(context: form)
  person.name = "Ada"
  let before = try (main.count(for: Person.fetchRequest()), sibling.count(for: Person.fetchRequest()))
  try form.save()
  let after = try (main.count(for: Person.fetchRequest()), sibling.count(for: Person.fetchRequest()))
  let onDisk = try await container.performBackgroundTask { try $0.count(for: Person.fetchRequest()) }
  try show("main and sibling before the form's save: \(before), after: \(after)", before == (0, 0) && after == (1, 1))
  try show("on disk: \(onDisk)", onDisk == 0)

  // An ID stays temporary until the root has saved. Code that needs a permanent one earlier asks for it.
  try show("its ID is temporary: \(person.objectID.isTemporaryID)", person.objectID.isTemporaryID)
  guard let inMain = main.insertedObjects.first else { throw Unexpected("nothing in the main context") }
  try main.obtainPermanentIDs(for: [inMain])
  try show("and permanent once it was asked for", !inMain.objectID.isTemporaryID)

  // Save the whole chain.
  try await saveChain(main)
  let saved = try await container.performBackgroundTask { try $0.count(for: Person.fetchRequest()) }
  try show("after the chain's save, on disk: \(saved)", saved == 1)

  // Dropping the form's context discards its changes and leaves nothing behind.
  person.name = "Somebody else"
  form.rollback()
  try show("rolled back: \(person.name ?? "nil")", person.name == "Ada" && !main.hasChanges)
}

/// Saves the context, its parent, and so on up to the store.
func saveChain(_ context: NSManagedObjectContext) async throws {
  let parent = try await context.perform {
    if context.hasChanges { try context.save() }
    return context.parent
  }
  if let parent { try await saveChain(parent) }
}
