import CoreData

@MainActor func debugging(_ place: Place) async throws {
  // In debug builds every use of a context or an object on a wrong queue ends the program with a sentence; in release builds
  // with `-com.apple.CoreData.ConcurrencyDebug 1`, or an environment variable of that name. Run with the argument `-wrong-queue`,
  // this example does such a thing.
  let container = try place.loadedContainer()
  let context = container.newBackgroundContext()
  context.name = "import"
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

  // `-com.apple.CoreData.SQLDebug 1` prints each statement and how long it took; 3 prints the values, too.
  try await context.perform { try context.save() }
}
