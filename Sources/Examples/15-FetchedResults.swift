import CoreData

@MainActor func fetchedResults(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let view = container.viewContext
  view.automaticallyMergesChangesFromParent = true

  // The controller keeps a sorted result in sections up to date and tells its delegate about each change.
  let request = Person.fetchRequest()
  request.predicate = NSPredicate(format: "age >= 18")
  request.sortDescriptors = [
    NSSortDescriptor(key: "team.name", ascending: true), NSSortDescriptor(key: "name", ascending: true),
  ]
  let controller = NSFetchedResultsController(
    fetchRequest: request, managedObjectContext: view, sectionNameKeyPath: "team.name", cacheName: nil)
  let log = ChangeLog()
  controller.delegate = log
  try controller.performFetch()

  try await container.performBackgroundTask { context in
    for (name, age, team) in [("Ada", 36, "Analysts"), ("Alan", 41, "Breakers"), ("Blaise", 12, "Analysts")] {
      let person = Person(context: context)
      person.name = name
      person.age = Int64(age)
      let request = Team.fetchRequest()
      request.predicate = NSPredicate(format: "name == %@", team)
      person.team = try context.fetch(request).first ?? Team(context: context)
      person.team?.name = team
    }
    try context.save()
  }
  await view.perform(schedule: .enqueued) {}
  try show(
    "\(log.lines)", log.lines == ["section Analysts", "section Breakers", "insert Ada [0, 0]", "insert Alan [1, 0]"])

  // It says nothing about changes that do not affect its results.
  log.lines = []
  try await container.performBackgroundTask { context in
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "age < 18")
    try context.fetch(request).first?.age = 13
    try context.save()
  }
  await view.perform(schedule: .enqueued) {}
  try show("a child's birthday is not told: \(log.lines)", log.lines.isEmpty)

  // The same as an asynchronous sequence: the present result first, then the newest one after each change.
  var seen: [[String]] = []
  for try await people in view.values(for: request) {
    seen.append(people.map { $0.name ?? "" })
    if people.count == 3 { break }
    try await container.write { context in
      let person = Person(context: context)
      person.name = "Grace"
      person.age = 85
    }
  }
  try show("\(seen)", seen == [["Ada", "Alan"], ["Grace", "Ada", "Alan"]])

  // In every other place the elements are values that a closure makes of the objects.
  let background = container.newBackgroundContext()
  let names = background.values(for: request, every: .milliseconds(100)) { $0.name ?? "" }
  for try await adults in names {
    try show("\(adults.count) adults, \(adults.difference.count) changes", adults.values == seen.last)
    break
  }
}

/// Records what a controller tells its delegate.
final class ChangeLog: NSObject, NSFetchedResultsControllerDelegate {
  var lines: [String] = []

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange object: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let place = (newIndexPath ?? indexPath).map { Array($0) } ?? []
    lines.append("\(type == .insert ? "insert" : "change") \((object as? Person)?.name ?? "") \(place)")
  }

  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange section: any NSFetchedResultsSectionInfo,
    atSectionIndex index: Int, for type: NSFetchedResultsChangeType
  ) {
    lines.append("section \(section.name)")
  }
}
