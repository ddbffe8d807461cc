import CoreData

@MainActor func objectIDsAsText(_ place: Place) async throws {
  let cache = place.folder.appendingPathComponent("favourites.plist")
  let first = try place.loadedContainer()

  // An object ID is a URI and therefore text: it can be kept in a file or passed to another process.
  let ada = Person(context: first.viewContext)
  ada.name = "Ada"
  let alan = Person(context: first.viewContext)
  alan.name = "Alan"
  let temporary = ada.objectID.uriRepresentation().absoluteString
  try first.viewContext.save()
  let favourites = [ada, alan].map { $0.objectID.uriRepresentation().absoluteString }
  try PropertyListEncoder().encode(favourites).write(to: cache)

  // This stands for a new launch: another coordinator on the same file.
  let second = try place.loadedContainer()
  let coordinator = second.persistentStoreCoordinator
  let texts = try PropertyListDecoder().decode([String].self, from: Data(contentsOf: cache))
  let ids = texts.compactMap(URL.init(string:)).compactMap(coordinator.managedObjectID(forURIRepresentation:))
  let people = ids.compactMap { second.viewContext.object(with: $0) as? Person }
  try show("after the launch: \(people.compactMap(\.name))", people.compactMap(\.name) == ["Ada", "Alan"])

  // IDs that lead nowhere differ in how they fail.
  let id = { (text: String) in URL(string: text).flatMap(coordinator.managedObjectID(forURIRepresentation:)) }
  try show("an unknown store: no ID", id("x-coredata://\(UUID().uuidString)/Person/p1") == nil)
  try show("an unknown entity: no ID", id(favourites[0].replacingOccurrences(of: "/Person/", with: "/Robot/")) == nil)
  try show("a temporary ID means nothing in another launch", id(temporary) == nil)
  second.viewContext.delete(people[1])
  try second.viewContext.save()
  // The error is the answer: the row does not exist.
  let isGone = id(favourites[1]).map { (try? second.viewContext.existingObject(with: $0)) == nil } ?? false
  try show("a deleted row: an ID, but no object", isGone)
}
