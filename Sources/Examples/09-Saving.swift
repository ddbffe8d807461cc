import CoreData

func saving(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let context = container.newBackgroundContext()

  // A save without changes writes nothing and posts nothing.
  let saved = try await context.saveIfChanged()
  try show("saved without changes: \(saved)", !saved)

  // A failed save names the objects and the reasons, and leaves everything as it was.
  await context.perform {
    _ = Person(context: context)
    let team = Team(context: context)
    team.name = "Analysts"
  }
  do {
    _ = try await context.saveIfChanged()
    throw Unexpected("a person without a name was saved")
  } catch let error as SaveError {
    try show("\(error)", error.reasons.count == 1 && error.reasons[0].contains("name"))
  }
  let changes = await context.perform { context.insertedObjects.count }
  try show("\(changes) objects wait for the next save", changes == 2)
  await context.perform {
    for case let person as Person in context.insertedObjects { person.name = "Ada" }
  }
  try show("saved: \(try await context.saveIfChanged())")
}

/// The reasons why a save failed: one sentence for each object.
struct SaveError: Error, CustomStringConvertible {
  let context: String
  let reasons: [String]
  var description: String { "the context \(context) cannot be saved: " + reasons.joined(separator: "; ") }

  init(_ error: NSError, context: NSManagedObjectContext) {
    self.context = context.name ?? "without a name"
    let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
    reasons = errors.map { error in
      let object = error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject
      let entity = object?.entity.name.map { "\($0): " } ?? ""
      return entity + error.localizedDescription
    }
  }
}

extension NSManagedObjectContext {
  /// Saves on the context's queue if there are changes. Returns whether there were any.
  func saveIfChanged() async throws -> Bool {
    try await perform { [self] in
      guard hasChanges else { return false }
      do { try save() } catch { throw SaveError(error as NSError, context: self) }
      return true
    }
  }
}
