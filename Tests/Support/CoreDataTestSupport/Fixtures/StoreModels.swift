import CoreData
import Testing

/// The models of the stores among the fixtures.
package enum StoreModels {
  package static let names: [String] = (try? ModelFixtures.names(in: "stores")) ?? []

  /// The stores that keep a copy of their model.
  package static let keepingModels = names.filter { name in
    name.hasPrefix("Harbour") || ((try? ModelFixtures.cachedModel(ofStore: name)) ?? nil) != nil
  }

  /// The model of a store: for Apple's from the description of the store's copy, otherwise from the model's source.
  package static func model(ofStore name: String) throws -> NSManagedObjectModel {
    if let cached = try ModelFixtures.cachedModel(ofStore: name) { return cached.model }
    if let source = try sourceModel(ofStore: name) { return source.plain() }
    let folder = try ModelFixtures.folder("stores/\(name)/model")
    let file = try #require(
      FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.contains(".xcdatamodel") })
    return try NSManagedObjectModel.load(contentsOf: folder.appendingPathComponent(file))
  }

  /// The version of the model's source that has the store's hashes; nil if the fixtures have none.
  package static func sourceModel(ofStore name: String) throws -> NSManagedObjectModel? {
    let folder = try ModelFixtures.folder("stores/\(name)/model")
    let hashes = try StoreFixtures.metadata(ofStore: name)["NSStoreModelVersionHashes"] as? [String: Data]
    for file in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
      let url = folder.appendingPathComponent(file)
      let candidates =
        file.hasSuffix(".xcdatamodeld")
        ? Array(try NSManagedObjectModel.versions(at: url).values)
        : [file.hasSuffix(".xcdatamodel") ? try NSManagedObjectModel.load(contentsOf: url) : nil].compactMap { $0 }
      if let model = candidates.first(where: { $0.entityVersionHashesByName == hashes }) { return model }
    }
    return nil
  }
}

extension NSManagedObjectModel {
  /// The model with plain objects for every entity.
  package func plain() -> NSManagedObjectModel {
    for entity in entities { entity.managedObjectClassName = "NSManagedObject" }
    return self
  }
}
