import CoreData

func fast(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await insert(20_000, into: container)
  try await prefetch(place)
  try await values(container)
  try await batches(container)
  try await index(container)
  try await update(container)
}

/// 20,000 people in one request, without objects; the first 2,000 get a team each.
private func insert(_ count: Int, into container: NSPersistentContainer) async throws {
  let duration = try await time {
    try await container.performBackgroundTask { context in
      var numbers = (1...count).makeIterator()
      let request = NSBatchInsertRequest(entityName: "Person") { (row: NSMutableDictionary) in
        guard let number = numbers.next() else { return true }
        row["name"] = "Person \(number)"
        row["age"] = number % 90
        row["email"] = "\(number)@example.org"
        return false
      }
      try context.execute(request)
    }
  }
  let stored = try await container.read { context in try context.count(for: Person.fetchRequest()) }
  try show("a batch insert of \(stored) people: \(duration)", stored == count)
  try await container.write { context in
    let request = Person.fetchRequest()
    request.fetchLimit = 2_000
    for (number, person) in try context.fetch(request).enumerated() {
      let team = Team(context: context)
      team.name = "Team \(number)"
      person.team = team
    }
  }
}

private func prefetch(_ place: Place) async throws {
  var durations: [Duration] = []
  for paths in [[], ["team"]] {
    // A coordinator of its own, whose row cache has no team yet.
    let container = try place.loadedContainer()
    let duration = try await time {
      let teams = try await container.performBackgroundTask { context in
        let request = Person.fetchRequest()
        request.predicate = NSPredicate(format: "team != nil")
        request.relationshipKeyPathsForPrefetching = paths
        return try context.fetch(request).compactMap { $0.team?.name }.count
      }
      guard teams == 2_000 else { throw Unexpected("\(teams) teams") }
    }
    durations.append(duration)
  }
  try show("the teams of 2,000 people one by one: \(durations[0]), prefetched: \(durations[1])", durations[0] > .zero)
}

private func values(_ container: NSPersistentContainer) async throws {
  let byAge = try await container.read { context in
    let count = NSExpressionDescription()
    count.name = "count"
    count.expression = NSExpression(format: "count:(name)")
    count.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: "Person")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["age", count]
    request.propertiesToGroupBy = ["age"]
    return try context.fetch(request).compactMap { $0["count"] as? Int }
  }
  try show("\(byAge.count) ages, counted in the store", byAge.count == 90 && byAge.reduce(0, +) == 20_000)
}

private func batches(_ container: NSPersistentContainer) async throws {
  let faults = try await container.read { context in
    let request = Person.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "email", ascending: true)]
    request.fetchBatchSize = 100
    let people = try context.fetch(request)
    for person in people.prefix(30) { _ = person.name }  // reads 100 rows, and no more
    return people.filter(\.isFault).count
  }
  try show("\(faults) of 20,000 people are faults after 30 were shown", faults >= 19_900)
}

private func index(_ container: NSPersistentContainer) async throws {
  let plans = try await container.read { context in
    try ["email == '17@example.org'", "name == 'Person 17'"].map { condition in
      let request = Person.fetchRequest()
      request.predicate = NSPredicate(format: condition)
      return try context.explain(request).statements.flatMap(\.plan).joined(separator: "\n")
    }
  }
  try show("with an index: \(plans[0])", plans[0].contains("SEARCH"))
  try show("without one: \(plans[1])", plans[1].contains("SCAN"))
}

private func update(_ container: NSPersistentContainer) async throws {
  let view = container.viewContext
  let updated = try await container.performBackgroundTask { context in
    let request = NSBatchUpdateRequest(entityName: "Person")
    request.predicate = NSPredicate(format: "age < 18")
    request.propertiesToUpdate = ["team": NSNull()]
    request.resultType = .updatedObjectIDsResultType
    let ids = (try context.execute(request) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID] ?? []
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [view])
    return ids.count
  }
  try show("a batch update of \(updated) rows", updated > 0)
}

private func time(_ work: () async throws -> Void) async rethrows -> Duration {
  let start = ContinuousClock.now
  try await work()
  return ContinuousClock.now - start
}
