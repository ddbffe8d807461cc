import CoreData

func memory(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await portions(container)
  try await release(container)
  try await pass(container)
}

private func portions(_ container: NSPersistentContainer) async throws {
  let most = try await container.performBackgroundTask { context in
    var most = 0
    for number in 1...10_000 {
      let person = Person(context: context)
      person.name = "Person \(number)"
      guard number.isMultiple(of: 500) else { continue }
      most = max(most, context.insertedObjects.count)
      try context.save()
      context.reset()
    }
    return most
  }
  try show("an import of 10,000 people had \(most) of them in memory", most == 500)
}

private func release(_ container: NSPersistentContainer) async throws {
  let counts = try await container.performBackgroundTask { context in
    let team = Team(context: context)
    team.name = "All"
    let request = Person.fetchRequest()
    request.fetchLimit = 100
    for person in try context.fetch(request) { person.team = team }
    try context.save()

    let members = team.members?.count ?? 0
    context.refresh(team, mergeChanges: false)
    return (members, team.isFault)
  }
  try show("a team of \(counts.0) members was released", counts.0 == 100 && counts.1)
}

private func pass(_ container: NSPersistentContainer) async throws {
  let rows = try await container.read { context in
    let request = Person.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    request.fetchLimit = 50
    return try context.fetch(request).map { Row(id: $0.objectID, name: $0.name ?? "") }
  }
  try show("a list of \(rows.count) rows keeps no object", rows.count == 50)
}

private struct Row: Sendable {
  let id: NSManagedObjectID
  let name: String
}
