import CoreData
import Foundation
import Jobs

/// Whether a store is of a model.
enum ModelFit {
  /// In what model and store differ; `nil` when they do not, or when that cannot be read.
  static func difference(model path: String, store: String) -> String? {
    let place = StorePlace(store)
    // A file that cannot be read has no difference to report: opening it gives the error.
    guard let model = try? ModelLoader.load(path),
      let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: place.storeType, at: place.url, options: nil),
      !model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata),
      let stored = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    else { return nil }
    if let version = version(of: path, thatFits: metadata) { return "the store is of its version \"\(version)\"" }
    let modelHashes = model.entityVersionHashesByName
    let parts = [
      named(stored.keys.filter { modelHashes[$0] == nil }, "is in the store only", "are in the store only"),
      named(modelHashes.keys.filter { stored[$0] == nil }, "is in the model only", "are in the model only"),
      named(modelHashes.filter { name, hash in stored[name].map { $0 != hash } ?? false }.keys, "differs", "differ"),
    ]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }

  private static func named(_ entities: some Collection<String>, _ one: String, _ several: String) -> String? {
    guard !entities.isEmpty else { return nil }
    return "\(entities.sorted().joined(separator: " and ")) \(entities.count == 1 ? one : several)"
  }

  /// The name of the model's version that the store was made with.
  private static func version(of path: String, thatFits metadata: [String: Any]) -> String? {
    versions(of: path).first { $0.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) }?.name
  }

  /// The versions in a bundle of a model that can be read, by name; none for a path that is no bundle.
  static func versions(of path: String) -> [(name: String?, model: NSManagedObjectModel)] {
    // A path that cannot be listed is no bundle.
    let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return files.sorted().map { URL(fileURLWithPath: "\(path)/\($0)") }
      .filter { ["xcdatamodel", "mom"].contains($0.pathExtension) }
      .compactMap { url in
        NSManagedObjectModel(contentsOf: url).map { (url.deletingPathExtension().lastPathComponent, $0) }
      }
  }
}
