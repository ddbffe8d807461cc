import CoreData

/// An actor that owns a context. Its methods use managed objects directly; values and object IDs go in and out.
private actor AddressBook: ManagedObjectActor {
  nonisolated let executor: ManagedObjectContextExecutor
  private var recent: Person?

  init(_ container: NSPersistentContainer) {
    executor = ManagedObjectContextExecutor(container.newBackgroundContext())
  }

  func add(_ name: String) throws -> NSManagedObjectID {
    let person = Person(context: context)
    person.name = name
    try context.save()
    recent = person
    return person.objectID
  }
}

extension AddressBook {
  func name(of id: NSManagedObjectID) throws -> String? { try object(id, as: Person.self).name }

  func names() throws -> [String] { try fetch(Person.fetchRequest()).compactMap(\.name).sorted() }

  var nameOfRecent: String? { recent?.name }

  var hasUnsavedChanges: Bool { context.hasChanges }

  /// Awaits between a change and its save.
  func add(_ name: String, after pause: @Sendable () async throws -> Void) async throws {
    let person = Person(context: context)
    person.name = name
    try await pause()
    if context.hasChanges { try context.save() }
  }
}

@MainActor func actors(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let addressBook = AddressBook(container)

  // Callers await, as for any actor. An object ID is the way to the same object in another context.
  let id = try await addressBook.add("Ada")
  let name = try await addressBook.name(of: id)
  let shown = container.viewContext.object(with: id) as? Person
  try show("the actor and the view context have \(name ?? "nil")", name == "Ada" && shown?.name == "Ada")

  // The actor may keep objects in its properties.
  let recent = await addressBook.nameOfRecent
  try show("the actor has kept \(recent ?? "nil")", recent == "Ada")

  // Calls from many tasks run one after the other, each as a whole.
  try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 1...5 { group.addTask { _ = try await addressBook.add("Person \(number)") } }
    try await group.waitForAll()
  }
  let names = try await addressBook.names()
  try show("six people: \(names)", names.count == 6)

  // Where a method awaits, other methods run and see its unsaved changes.
  try await addressBook.add("Alan") {
    let isUnsaved = await addressBook.hasUnsavedChanges
    try show("at an await in a method, another method sees unsaved changes: \(isUnsaved)", isUnsaved)
  }
}
