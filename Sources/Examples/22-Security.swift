import CoreData

func security(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await container.write { context in
    for name in ["Ada", "Alan"] {
      let person = Person(context: context)
      person.name = name
      person.email = "\(name)@example.org"
    }
  }
  try await arguments(container)
  try await fields(container)
  try await files(place)
  try await traces(place)
  try archives()
}

private func arguments(_ container: NSPersistentContainer) async throws {
  let typed = "x' OR 'a' == 'a"
  let counts = try await container.read { context in
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", typed)
    let safe = try context.count(for: request)
    request.predicate = NSPredicate(format: "name == '\(typed)'")  // wrong: the text becomes a part of the predicate
    return (safe, try context.count(for: request))
  }
  try show("as an argument it finds \(counts.0) people, as a part of the format \(counts.1)", counts == (0, 2))
}

private func fields(_ container: NSPersistentContainer) async throws {
  let searchable = ["name": "name", "address": "email"]
  func search(_ field: String, _ text: String, in context: NSManagedObjectContext) throws -> [Person] {
    guard let key = searchable[field] else { throw Unexpected("no such field: \(field)") }
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "%K BEGINSWITH %@", key, text)
    request.fetchLimit = 100
    return try context.fetch(request)
  }
  let found = try await container.performBackgroundTask { context in try search("name", "A", in: context).count }
  try show("a search by a field of the list finds \(found) people", found == 2)
}

private func files(_ place: Place) async throws {
  let folder = place.folder.appendingPathComponent("private")
  try FileManager.default.createDirectory(
    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  let store = folder.appendingPathComponent("App.sqlite")
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: place.model)
  _ = try coordinator.addPersistentStore(type: .sqlite, at: store)
  let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
  try show("only the owner can open the folder of the store", mode == 0o700)
}

private func traces(_ place: Place) async throws {
  for (name, isErased) in [("kept", "FALSE"), ("erased", "TRUE")] {
    let store = place.folder.appendingPathComponent("\(name).sqlite")
    let description = NSPersistentStoreDescription(url: store)
    description.setValue(isErased as NSString, forPragmaNamed: "secure_delete")
    let container = NSPersistentContainer(name: name, managedObjectModel: place.model)
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { _, error in if let error { fatalError("\(error)") } }
    try await container.write { context in
      for number in 1...100 {
        let person = Person(context: context)
        person.name = "Secret \(number)"
      }
    }
    try await container.write { context in
      for person in try context.fetch(Person.fetchRequest()) { context.delete(person) }
    }
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let hasTraces = try Data(contentsOf: store).range(of: Data("Secret".utf8)) != nil
    try show("secure_delete \(isErased): traces in the file: \(hasTraces)", hasTraces == (isErased == "FALSE"))
  }
}

private final class TagsTransformer: NSSecureUnarchiveFromDataTransformer {
  override class var allowedTopLevelClasses: [AnyClass] { [NSArray.self, NSString.self] }
}

private func archives() throws {
  ValueTransformer.setValueTransformer(TagsTransformer(), forName: NSValueTransformerName("TagsTransformer"))
  let transformer = TagsTransformer()
  let tags = try NSKeyedArchiver.archivedData(withRootObject: ["a", "b"] as NSArray, requiringSecureCoding: true)
  let date = try NSKeyedArchiver.archivedData(withRootObject: NSDate(), requiringSecureCoding: true)
  let read = [tags, date].map { transformer.transformedValue($0) != nil }
  try show("an archive of tags is read, one of a date is not: \(read)", read == [true, false])
}
