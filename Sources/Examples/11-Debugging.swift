import CoreData

@MainActor func debugging(_ place: Place) async throws {
  // With `-com.apple.CoreData.ConcurrencyDebug 1`, or an environment variable with this name, any use of a context or
  // an object on a wrong queue ends the program with a sentence.
  // With the argument `-wrong-queue` this example makes that mistake.
  let container = try place.loadedContainer()
  let context = container.newBackgroundContext()
  context.name = "import"
  // `nonisolated(unsafe)`: used on the context's queue only, except for the mistake.
  nonisolated(unsafe) let person = context.performAndWait {
    let person = Person(context: context)
    person.name = "Ada"
    return person
  }
  if CommandLine.arguments.contains("-wrong-queue") {
    print(person.name ?? "")
  }
  let name = context.performAndWait { person.name }
  try show("on its own queue \(name ?? "nil") can be read", name == "Ada")

  // `-com.apple.CoreData.SQLDebug 1` prints each statement and its duration; 3 prints the values too.
  try await context.perform { try context.save() }

  // A fetch explained: the statement, SQLite's plan, the number of results and the time.
  let explanation = try await context.perform {
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", "Ada")
    return try context.explain(request)
  }
  try show("\(explanation)", explanation.resultCount == 1)
}
