import CoreData

@MainActor func objectIDs(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let view = container.viewContext

  // Objects stay on their queue; their IDs go anywhere. Here a background fetch asks for IDs only.
  try await container.performBackgroundTask { context in
    for (name, age) in [("Ada", 36), ("Grace", 85), ("Alan", 41)] {
      let person = Person(context: context)
      person.name = name
      person.age = Int64(age)
    }
    try context.save()
  }
  let ids = try await container.performBackgroundTask { context in
    let request = NSFetchRequest<NSManagedObjectID>(entityName: "Person")
    request.resultType = .managedObjectIDResultType
    request.predicate = NSPredicate(format: "age > 40")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request)
  }

  // `object(with:)` reads nothing: it gives a fault that is filled when a property is read.
  let people = ids.compactMap { view.object(with: $0) as? Person }
  try show("faults: \(people.map(\.isFault))", people.allSatisfy(\.isFault))
  try show("names: \(people.compactMap(\.name))", people.compactMap(\.name) == ["Alan", "Grace"])

  // `registeredObject(for:)` only finds objects that the context has already.
  try show("one of them is registered", view.registeredObject(for: ids[0]) === people[0])

  // `existingObject(with:)` returns an object that has a row, or throws.
  try await container.performBackgroundTask { context in
    context.delete(context.object(with: ids[1]))
    try context.save()
  }
  view.reset()
  do {
    _ = try view.existingObject(with: ids[1])
    throw Unexpected("a deleted object was found")
  } catch let error as NSError where error.code == NSManagedObjectReferentialIntegrityError {
    try show("the object that was deleted meanwhile is an error: \(error.code)")
  }
}
