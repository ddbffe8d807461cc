import CoreData

@MainActor func longFetch(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await container.performBackgroundTask { context in
    let everybody = Team(context: context)
    everybody.name = "Everybody"
    for number in 1...400 {
      let person = Person(context: context)
      person.name = "Person \(number)"
      person.team = everybody
    }
    try context.save()
  }

  // A second coordinator on the same file: however long its fetch takes, it blocks neither reads nor saves of the main
  // stack.
  let isFetching = Locked(true)
  let other = try place.loadedContainer()
  let fetch = Task.detached {
    let start = ContinuousClock.now
    let count = try await other.performBackgroundTask { context in
      let request = Person.fetchRequest()
      // The predicate compares each person with every member of a team of all people: quadratic work inside SQLite.
      request.predicate = NSPredicate(
        format: "SUBQUERY(team.members, $other, $other.name CONTAINS[cd] SELF.name).@count >= 0")
      return try context.count(for: request)
    }
    isFetching.set(false)
    return (count, ContinuousClock.now - start)
  }

  var slowest = Duration.zero
  var saves = 0
  repeat {
    let start = ContinuousClock.now
    let person = Person(context: container.viewContext)
    person.name = "Newcomer \(saves)"
    try container.viewContext.save()
    slowest = max(slowest, ContinuousClock.now - start)
    saves += 1
    await Task.yield()
  } while isFetching.value
  let (count, duration) = try await fetch.value
  try show("a fetch of \(count) people took \(duration)", count >= 400)
  print("  meanwhile \(saves) saves, the slowest in \(slowest)")
}
