import CoreData

func generations(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await container.write { context in
    for name in ["Ada", "Alan", "Grace"] {
      let person = Person(context: context)
      person.name = name
    }
  }
  try await addUp(container)
}

/// A report that fetches twice, and a save in between.
///
///     report                  writer
///     count: 3
///                             deletes Ada, save
///     names: still 3
///     unpinned
///     names: 2
private func addUp(_ container: NSPersistentContainer) async throws {
  let report = container.newBackgroundContext()
  let count = try await report.perform {
    try report.setQueryGenerationFrom(.current)
    return try report.count(for: Person.fetchRequest())
  }
  try await container.write { context in
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", "Ada")
    for person in try context.fetch(request) { context.delete(person) }
  }
  let names = try await report.perform { try report.fetch(Person.fetchRequest()).compactMap(\.name) }
  try show("the pinned report counts \(count) people and lists \(names.count)", count == 3 && names.count == 3)

  let newest = try await report.perform {
    try report.setQueryGenerationFrom(nil)
    return try report.fetch(Person.fetchRequest()).compactMap(\.name).sorted()
  }
  try show("unpinned it lists \(newest)", newest == ["Alan", "Grace"])
}
