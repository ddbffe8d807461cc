internal import Synchronization

/// The sections of a controller's results in a file, valid until something writes to the store.
///
/// It holds names and lengths, no rows: the fetch gives the rows, and the cache spares reading each row's section name.
/// It is used if the configuration and the stamp are those of now. The stamp is taken twice, so that a cache is never
/// of another moment than its rows:
///
/// ```text
/// controller                              another process
/// stamp 1: sizes and times of the files
/// fetch, cut into sections
///                                         commits
/// stamp 2 differs from stamp 1            the cache is not written
/// ```
///
/// ```text
/// controller                              another process
/// stamp 1 = stamp 2, cache written
///                                         commits: the log has another size or time
/// next fetch: the stamp differs           the cache is not used, and written again
/// ```
///
/// A file system may give two writes within one tick of its clock the same time, and a commit into a restarted log may
/// leave its size: a file that was written within the last second has no stamp, and no cache is written or used.
///
/// Source: Apple's documentation of `NSFetchedResultsController`, "The Cache". If the file cannot be read or written,
/// the sections are computed again.
struct SectionCache: Codable {
  /// Everything that the sections depend on besides the store's content.
  ///
  /// Predicate and sort descriptors as texts: equal texts are equal conditions, and different ones at worst make the
  /// cache unused. The version hash stands for the model, the identifiers for the stores.
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
  ///
  /// Of the store's file and of those beside it, such as the write-ahead log, in which commits are at first
  /// (https://www.sqlite.org/wal.html).
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
  ///
  /// Stores in memory and on a server have no files and get no cache.
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

  /// Nil for a file that cannot be read or decoded, such as one of another version of this module.
  static func read(_ name: String) -> SectionCache? {
    guard let data = try? Data(contentsOf: file(name)) else { return nil }
    return try? PropertyListDecoder().decode(SectionCache.self, from: data)
  }

  /// Atomic, since two controllers of one name in two processes may write at the same time: a reader sees one or the
  /// other.
  func write(_ name: String) {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    // A cache that cannot be written is made again at the next fetch.
    guard let data = try? encoder.encode(self) else { return }
    try? FileManager.default.createDirectory(at: SectionCache.folder, withIntermediateDirectories: true)
    try? data.write(to: SectionCache.file(name), options: .atomic)
  }

  /// The counter tells controllers that exist, which have a configuration in memory, that the program has asked for a
  /// new one.
  static func delete(_ name: String?) {
    deleted.withLock { $0[name ?? "", default: 0] += 1 }
    // A cache that cannot be removed has an old stamp once the store is written, and is not used then.
    try? FileManager.default.removeItem(at: name.map(file) ?? folder)
  }

  /// The number of deletions of the cache in this process.
  static func deletions(of name: String) -> Int {
    deleted.withLock { ($0[name] ?? 0) + ($0[""] ?? 0) }
  }

  /// Deletions by name; those of all caches are counted under the empty name.
  private static let deleted = Mutex<[String: Int]>([:])

  /// The folder of this program's caches.
  ///
  /// `~/.cache` on Linux, or where XDG_CACHE_HOME leads; the temporary directory if there is none.
  static var folder: URL {
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    return (caches ?? FileManager.default.temporaryDirectory)
      .appendingPathComponent(ProcessInfo.processInfo.processName)
      .appendingPathComponent("FetchedResultsSections")
  }

  /// Percent-encoding keeps different names different.
  private static func file(_ name: String) -> URL {
    // A cache name may hold any characters, a file name may not.
    let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return folder.appendingPathComponent("\(escaped).plist")
  }
}
