import CoreData

/// Photos, whose data lie in files beside the store if they are large.
package enum ExternalPhotos {
  package static func model() -> NSManagedObjectModel {
    let data = Build.attribute("data", .binaryDataAttributeType)
    data.allowsExternalBinaryDataStorage = true
    return Build.model(Build.entity("Photo", Build.attribute("name"), data))
  }

  package static func store() throws -> TemporaryStore { try TemporaryStore(model()) }

  package static func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 300_000) }

  /// The names of the files beside a store.
  package static func files(beside url: URL) -> Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: folder(of: url).path)) ?? [])
  }

  package static func folder(of url: URL) -> URL {
    url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
  }

  /// A context of a coordinator that has read nothing yet.
  package static func open(_ url: URL) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    return coordinator.context()
  }

  /// The data of all photos, in the order of their names, as a coordinator of its own reads them.
  package static func values(at url: URL) throws -> [Data?] {
    let context = try open(url)
    return try context.performAndWait {
      try context.all("Photo", sort: "name").map { $0.value(forKey: "data") as? Data }
    }
  }

  /// Gives all photos other data, as another process does.
  package static func replaceAll(at url: URL, by data: Data?) throws {
    let context = try open(url)
    try context.performAndWait {
      for photo in try context.all("Photo") { photo.setValue(data, forKey: "data") }
      try context.save()
    }
  }
}
