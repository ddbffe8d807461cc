internal import LinuxSystem

/// A store that reads its file when it is opened, and writes the whole file with each save.
///
/// `@unchecked Sendable`: set up in `init`; `memory` does its own locking; the thread that has its turn uses
/// `fileState` and `written`.
///
/// A save, from the change in memory to the disk:
///
/// ```text
/// memory.transaction
///   MemoryChangeWriter        the new state of the rows, which only the writer sees
///   prepare → writeFile       is the file the one that was read? encodes all rows, writes a temporary file beside it
///                             (other stores of the same save commit here)
///   persist → replaceFile     fsync of the new file, rename over the old one, fsync of the directory
///   commit                    readers see the new state
/// an error on the way         takeBack: the old rows in memory; if the rename was done, the old file is written again
/// ```
///
/// rename(2) replaces a name in one step: another process that opens the file sees the old content or the new one, and
/// a killed process leaves one of them.
///
/// Each save costs the whole file. It suits a few thousand objects; beyond that SQLite writes less, and reads only what
/// is asked for.
class FileStore: NSPersistentStore, MemoryBacked, @unchecked Sendable {
  class var format: any StoreFormat.Type { preconditionFailure("A class of file stores names its format.") }
  class var storeTypes: [String] { [format.storeType] }

  let memory: MemoryRows
  /// The state of the file when this store last read or wrote it; nil before there is a file.
  private var fileState: FileState?
  /// The file with the rows of the transaction, until it takes the old file's place.
  private var written: ReplacingFile?
  /// Whether the file has the rows of a transaction that has not ended yet.
  private var isAhead = false
  /// Makes a directory's names durable. Tests let it fail.
  var synchronize: (String) throws -> Void = { try synchronizeDirectory($0) }

  /// The closures of `memory` refer to the store without a count: the memory belongs to the store and is not used after
  /// it.
  ///
  /// - Parameter replacesFile: makes an empty store, which takes the place of the file with its first transaction.
  required init(_ opening: StoreOpening, replacesFile: Bool = false) throws {
    let steps = try FileOpening(opening, Swift.type(of: self).format)
    let opened = replacesFile ? nil : try steps.run()
    fileState = opened.map(\.state) ?? FileState(steps.url)
    let reference = StoreReference(identifier: opened?.metadata[NSStoreUUIDKey] as? String ?? UUID().uuidString)
    memory = MemoryRows(MemorySchema(opening.entities, reference, sharesKeys: true))
    super.init(
      persistentStoreCoordinator: nil, configurationName: opening.configurationName, at: opening.placeURL,
      options: opening.options)
    wasOpened(as: opening.type, at: opening.url, identifier: reference.identifier)
    metadata = opened?.metadata ?? StoreMetadata.new(opening, identifier: reference.identifier)
    if let opened {
      try FileStore.translating(steps.url) {
        try memory.load { try steps.format.decode(opened.data, into: MemoryLoader($0)) }
      }
    }
    memory.prepare = { [unowned self] _ in try writeFile() }
    memory.persist = { [unowned self] _ in try replaceFile() }
    memory.discard = { [unowned self] in takeBack() }
    reference.store = self
  }

  // MARK: Opening

  class func open(_ opening: StoreOpening) throws -> any ObjectStore {
    if let place = opening.url, opening.others.contains(where: { $0 is FileStore && place.isSamePlace(as: $0.url) }) {
      throw CoreDataErrors.error(.persistentStoreOpen, "The store at \(opening.place) is open already.")
    }
    return try self.init(opening)
  }

  /// For `migratePersistentStore`: the old file stays until the first transaction, which holds all copied rows,
  /// replaces it. A failed copy leaves it as it was.
  class func openReplacing(_ opening: StoreOpening, closing: () throws -> Void) throws -> any ObjectStore {
    try self.init(opening, replacesFile: true)
  }

  override func loadMetadata() throws {
    if let url { metadata = try Swift.type(of: self).metadata(at: url, options) }
  }

  var files: [URL] { url.map { [$0] } ?? [] }

  // MARK: The file

  /// Writes the state after the transaction, under a temporary name.
  ///
  /// ```text
  /// This process                                 Another process
  /// -------------------------------------------  -------------------------------------------
  /// reads the file (state: inode 5, 1693 bytes)
  ///                                              saves: inode 9
  /// saves: the file is not the one that was
  ///   read: 134030, nothing is written
  /// ```
  ///
  /// There is no lock: the check and the rename are two steps, so two saves at the very same time may both succeed, and
  /// the later one wins. Stores that several processes write are SQLite's.
  private func writeFile() throws {
    guard let url else { return }
    // Memory does not have the changes of another process: writing would undo them.
    if fileState != FileState(url) {
      throw CoreDataErrors.error(
        .persistentStoreSave,
        "\(url.path) was changed or removed by another program after it was read; remove the store from the "
          + "coordinator, add it again and repeat the changes.")
    }
    if memory.lastKeys.contains(where: { $0 > MemoryLoader.lastKey }) {
      throw CoreDataErrors.error(
        .persistentStoreSave,
        "\(url.path) has given all its \(MemoryLoader.lastKey) keys to objects; migrate it to a SQLite store.")
    }
    let data = try FileStore.translating(url) { try Swift.type(of: self).format.encode(memory, metadata ?? [:]) }
    written = try FileStore.temporaryFile(data, for: url)
  }

  /// Puts the file with the state after the transaction into its place.
  ///
  /// `isAhead` is true between the rename and the end of the directory's fsync: if that fails, the file has rows that
  /// the save has not.
  private func replaceFile() throws {
    guard let url else { return }
    if written == nil { try writeFile() }
    defer { written = nil }
    try CoreDataErrors.translatingFiles(.persistentStoreSave) {
      if let written { try written.complete(surviving: .power) }
      isAhead = true
      fileState = FileState(url)
      try synchronize(url.resolvingSymlinksInPath().deletingLastPathComponent().path)
      isAhead = false
    }
  }

  /// Takes the transaction back. The memory has its earlier rows again; if the file does not, it is written once more.
  private func takeBack() {
    written = nil
    guard isAhead else { return }
    isAhead = false
    // The transaction's own error says why the save failed.
    try? replaceFile()
  }

  private static func temporaryFile(_ data: Data, for url: URL) throws -> ReplacingFile {
    let path = url.resolvingSymlinksInPath().path
    // A file that is not there yet has no mode.
    let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    return try CoreDataErrors.translatingFiles(.persistentStoreSave) {
      let file = try ReplacingFile(path, mode: mode?.uint32Value ?? 0o644)
      try file.write(data)
      return file
    }
  }

  /// Replaces the file at a URL, durably.
  private static func complete(_ file: ReplacingFile, at url: URL) throws {
    try CoreDataErrors.translatingFiles(.persistentStoreSave) {
      try file.complete(surviving: .power)
      try synchronizeDirectory(url.resolvingSymlinksInPath().deletingLastPathComponent().path)
    }
  }

  static func write(_ data: Data, to url: URL) throws { try complete(temporaryFile(data, for: url), at: url) }

  /// The content of a file; nil if there is none.
  static func read(_ url: URL) throws -> Data? {
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    do {
      let data = try Data(contentsOf: url)
      // The file may be empty because it was created to reserve its name.
      return data.isEmpty ? nil : data
    } catch {
      throw CoreDataErrors.error(
        .persistentStoreOpen, "\(url.path) cannot be read: \(error.localizedDescription)", [NSUnderlyingErrorKey: error]
      )
    }
  }

  static func existing(_ url: URL) throws -> Data {
    if let data = try read(url) { return data }
    throw CoreDataErrors.error(.persistentStoreOpen, "There is no store at \(url.path).")
  }

  static func translating<T>(_ url: URL, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as StoreFormatError {
      throw CoreDataErrors.error(.persistentStoreTypeMismatch, "\(url.path) cannot be used: \(error)")
    }
  }

  // MARK: Stores that are not open

  class func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any] {
    let data = try existing(url)
    return try translating(url) { try format.metadata(in: data) }
  }

  class func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws {
    let data = try existing(url)
    try write(
      translating(url) {
        try format.replacingMetadata(in: data, with: merging(metadata, into: format.metadata(in: data)))
      }, to: url)
  }

  class func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws {
    if FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
    try closing()
  }

  class func replace(_ destination: StoreFile, with source: StoreFile) throws {
    let data = try existing(source.url)
    // A file that is not a store must not replace one.
    _ = try translating(source.url) { try format.metadata(in: data) }
    try write(data, to: destination.url)
  }

  /// As in a save, the file is compared with the one that was read, and there is no lock.
  ///
  /// - Throws: 134110 if another program has written the file meanwhile.
  class func replace(_ store: StoreFile, byMaking make: () throws -> StoreFile?) throws {
    let state = FileState(store.url)
    guard let new = try make() else { return }
    guard FileState(store.url) == state else { throw changedDuringMigration(store.url) }
    try replace(store, with: new)
  }

  static func changedDuringMigration(_ url: URL) -> NSError {
    CoreDataErrors.error(
      .migration, "\(url.path) was changed by someone else while it was migrated; open it again.")
  }
}

/// A store in a binary file. `@unchecked Sendable`: adds no state to `FileStore`.
final class BinaryStore: FileStore, @unchecked Sendable {
  override class var format: any StoreFormat.Type { BinaryFormat.self }
}

/// A store in an XML file. `@unchecked Sendable`: adds no state to `FileStore`.
final class XMLStore: FileStore, @unchecked Sendable {
  override class var format: any StoreFormat.Type { XMLFormat.self }
}

extension FileStore {
  /// The identity and state of a file: it differs for another file at the same path, and after a change.
  ///
  /// A file that was replaced has another inode, one that was written in place another time or size. The time has
  /// nanoseconds, as far as the file system keeps them.
  struct FileState: Equatable {
    private let file: FileID
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil if there is no file.
    init?(_ url: URL) {
      var status = stat()
      guard stat(url.path, &status) == 0 else { return nil }
      file = FileID(status)
      size = Int64(status.st_size)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }
}
