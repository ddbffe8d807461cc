internal import Synchronization

/// The sections of a controller's results in a file, valid until something writes to the store.
///
/// Source: Apple's documentation of `NSFetchedResultsController`, "The Cache". If the file cannot be read or written,
/// the sections are computed again.
struct SectionCache: Codable {
  /// Everything that the sections depend on besides the store's content.
  struct Configuration: Codable, Equatable {
    let entity: String
    let versionHash: Data
    let predicate: String
    let sortDescriptors: [String]
    let sectionNameKeyPath: String
    let window: [Int]
    let includesSubentities: Bool
    let stores: [String]

    init(
      _ settings: FetchSettings, entity: NSEntityDescription, sectionNameKeyPath: String, stores: [any ObjectStore]
    ) {
      self.entity = entity.name ?? ""
      versionHash = entity.versionHash
      predicate = settings.predicate.map { String(describing: $0) } ?? ""
      sortDescriptors = (settings.sortDescriptors ?? []).map(\.description)
      self.sectionNameKeyPath = sectionNameKeyPath
      window = [settings.fetchOffset, settings.fetchLimit]
      includesSubentities = settings.includesSubentities
      self.stores = stores.map { $0.identifier ?? "" }
    }
  }

  /// The last write to a file: the file's size and time of modification.
  struct FileState: Codable, Equatable {
    let path: String
    let size: Int
    let modified: Date
  }

  let configuration: Configuration
  let stamp: [FileState]
  let names: [String]
  let counts: [Int]

  // MARK: What the store's files say

  /// The states of the stores' files. Nil if a store has no files, or one was written so recently that the file
  /// system's clock might not tell this write from the next.
  static func stamp(of stores: [any ObjectStore]) -> [FileState]? {
    var states: [FileState] = []
    for store in stores {
      guard let files = (store as? any PlacedStore)?.files, !files.isEmpty else { return nil }
      for path in files.map(\.path) {
        // A file that is not there yet, such as a write-ahead log, has no state.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
          let size = (attributes[.size] as? NSNumber)?.intValue, size > 0,
          let modified = attributes[.modificationDate] as? Date
        else { continue }
        guard modified.timeIntervalSinceNow < -1 else { return nil }
        states.append(FileState(path: path, size: size, modified: modified))
      }
    }
    return states.isEmpty ? nil : states
  }

  // MARK: Files

  static func read(_ name: String) -> SectionCache? {
    guard let data = try? Data(contentsOf: file(name)) else { return nil }
    return try? PropertyListDecoder().decode(SectionCache.self, from: data)
  }

  func write(_ name: String) {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    // A cache that cannot be written is made again at the next fetch.
    guard let data = try? encoder.encode(self) else { return }
    try? FileManager.default.createDirectory(at: SectionCache.folder, withIntermediateDirectories: true)
    try? data.write(to: SectionCache.file(name), options: .atomic)
  }

  static func delete(_ name: String?) {
    deleted.withLock { $0[name ?? "", default: 0] += 1 }
    // What cannot be removed is told from the current state by its stamp.
    try? FileManager.default.removeItem(at: name.map(file) ?? folder)
  }

  /// The number of deletions of the cache in this process.
  static func deletions(of name: String) -> Int {
    deleted.withLock { ($0[name] ?? 0) + ($0[""] ?? 0) }
  }

  /// Deletions by name; those of all caches are counted under the empty name.
  private static let deleted = Mutex<[String: Int]>([:])

  /// The folder of this program's caches.
  static var folder: URL {
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    return (caches ?? FileManager.default.temporaryDirectory)
      .appendingPathComponent(ProcessInfo.processInfo.processName)
      .appendingPathComponent("FetchedResultsSections")
  }

  private static func file(_ name: String) -> URL {
    // A cache name may hold any characters, a file name may not.
    let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return folder.appendingPathComponent("\(escaped).plist")
  }
}
