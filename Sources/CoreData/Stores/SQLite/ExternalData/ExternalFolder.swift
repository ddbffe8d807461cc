internal import LinuxSystem

/// A file of external data, as it was when it was looked at. A file that came to its name later is another one.
package struct ExternalFile: Hashable, Sendable {
  let name: String
  let size: Int
  private let file: FileID
  private let changed: [Int]

  fileprivate init(_ name: String, _ status: stat) {
    self.name = name
    size = Int(status.st_size)
    file = FileID(status)
    changed = [Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec)]
  }
}

/// The folder beside a store's file with the files of its external data, `.NAME_SUPPORT/_EXTERNAL_DATA`.
///
/// A file never changes. Saves bring files there in their writing transaction, before the rows that name them are
/// committed. Copies of whole stores bring them while they hold the folder's shared lock. A process that removes files
/// holds its exclusive lock, and removes only what it looked at before: flock(2), which ends with its process.
package struct ExternalFolder: Sendable {
  package let path: String
  private let support: String
  private let store: String

  package init(of store: URL) {
    let support = ExternalData.supportFolder(of: store)
    self.store = store.path
    self.support = support.path
    path = support.appendingPathComponent("_EXTERNAL_DATA").path
  }

  package func path(of name: String) -> String { "\(path)/\(name)" }

  // MARK: Reading

  /// A missing file ends the fetch of the row with 260, its path and what can be done: the backup of the store, or
  /// another value by a batch update, which does not read the old one.
  func read(_ name: String, of entity: String) throws -> Data {
    do {
      // A link, which others could lay there, is not followed.
      return Data(try GuardedFile(path(of: name), path: path(of: name)).bytes(atMost: .max - 1))
    } catch {
      throw Self.failure(error, path(of: name), "a value of \(entity)")
    }
  }

  private static func failure(_ refusal: GuardedFile.Refusal, _ path: String, _ what: String) -> NSError {
    let code: CocoaError.Code
    if case .missing = refusal { code = .fileReadNoSuchFile } else { code = .fileReadUnknown }
    return CoreDataErrors.error(
      code,
      "The file \(path), which holds \(what), \(refusal): "
        + "bring it back from a backup of the store, or give the row another value in a batch update.",
      [NSFilePathErrorKey: path])
  }

  /// The file of a name as it is now; nil if there is none.
  package func file(_ name: String) -> ExternalFile? {
    var status = stat()
    guard lstat(path(of: name), &status) == 0, FileKind(status) == .regular else { return nil }
    return ExternalFile(name, status)
  }

  /// The files of values, and what killed processes left of them. Others do not belong to stores.
  func files() -> [ExternalFile] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      // Without a folder there is no file; one that cannot be read keeps its files.
      return []
    }
    return names.filter(Self.isOfValue).compactMap(file)
  }

  /// Whether it is the name of a value's file, or of one that was being copied.
  ///
  /// ```text
  /// 8D9B9D24-AE06-418B-AD3B-AAD4EE0639A6              a value
  /// .8D9B9D24-AE06-418B-AD3B-AAD4EE0639A6.4711.tmp    one that was being copied
  /// notes.txt                                         a person's: never touched
  /// ```
  private static func isOfValue(_ name: String) -> Bool {
    if UUID(uuidString: name) != nil { return true }
    return name.hasPrefix(".") && name.hasSuffix(".tmp") && UUID(uuidString: String(name.dropFirst().prefix(36))) != nil
  }

  /// The names of the files of values.
  package var valueNames: Set<String> { Set(files().map(\.name).filter { UUID(uuidString: $0) != nil }) }

  // MARK: Writing

  /// Writes a value into a new file, which is on disk afterwards, but its name may not be: see ``synchronize()``.
  ///
  /// ```text
  /// open(O_CREAT | O_EXCL)     a new name: no file of that name is overwritten
  /// write, fsync               the bytes are on the disk
  /// (later) fsync(folder)      the name is on the disk: `synchronize()`, once for all files of a transaction
  /// ```
  ///
  /// Without the second fsync a loss of power may leave a row that names a file which the folder does not list.
  func write(_ value: Data) throws(FileError) -> String {
    let name = UUID().uuidString
    try make()
    let descriptor: Descriptor
    do {
      descriptor = try Descriptor(open(path(of: name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), "open")
    } catch {
      throw FileError(path: path(of: name), action: "be created", errno: error.number)
    }
    let failure: Int32 = value.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = Glibc.write(descriptor.number, bytes.baseAddress.map { $0 + written }, bytes.count - written)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return errno }
        written += count
      }
      return fsync(descriptor.number) == 0 ? 0 : errno
    }
    guard failure == 0 else {
      unlink(path(of: name))
      throw FileError(path: path(of: name), action: "be written", errno: failure)
    }
    return name
  }

  /// The rights of the store's file, which protect the values in its rows too.
  private var mode: mode_t {
    var status = stat()
    return stat(store, &status) == 0 ? status.st_mode & 0o666 : 0o666
  }

  private func make() throws(FileError) {
    for folder in [support, path] where mkdir(folder, 0o777) != 0 && errno != EEXIST {
      throw FileError(path: folder, action: "be made a directory", errno: errno)
    }
  }

  /// Makes the names of new files outlast a loss of power, and those of the folders.
  func synchronize() throws(FileError) {
    try synchronizeDirectory(path)
    try synchronizeDirectory(support)
    try synchronizeDirectory(URL(fileURLWithPath: support).deletingLastPathComponent().path)
  }

  // MARK: Copying

  /// Copies files here from another store's folder, or moves them. When they are on disk, the body makes rows name
  /// them.
  ///
  /// After an error, those that were not here before are removed.
  ///
  /// ```text
  /// Copying                                        Removing (`UnusedFiles`, `ExternalFiles`)
  /// ---------------------------------------------  ---------------------------------------------
  /// flock(folder, LOCK_SH)
  /// copies A, B                                    flock(LOCK_EX | LOCK_NB) fails: tries later
  /// makes rows name them (the body)
  /// unlocks
  ///                                                gets the lock; A and B are named now
  /// ```
  ///
  /// - Parameters:
  ///   - moving: whether the files leave the other folder, which is beside this one. They are on disk then.
  ///   - note: called before each file. What it throws ends the copy.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each caller takes long to compile
  package func bring<T>(
    _ names: Set<String>, from source: ExternalFolder, moving: Bool = false, note: () throws -> Void = {},
    then body: () throws -> T
  ) throws -> T {
    if names.isEmpty || source.path == path { return try body() }
    try CoreDataErrors.translatingFiles(.persistentStoreSave) { try make() }
    guard let lock = FolderLock(path, LOCK_SH) else {
      throw CoreDataErrors.error(
        .persistentStoreSave, "The folder \(path) cannot be locked: \(String(cString: strerror(errno))).")
    }
    var new: [ExternalFile] = []
    do {
      for name in names {
        try note()
        let isNew = file(name) == nil
        if moving { try move(name, from: source) } else { try copy(name, from: source) }
        if isNew, let file = file(name) { new.append(file) }
      }
      try CoreDataErrors.translatingFiles(.persistentStoreSave) { try synchronize() }
      let result = try body()
      lock.release()
      return result
    } catch {
      lock.release()
      _ = remove(new)
      removeIfEmpty()
      throw error
    }
  }

  private func move(_ name: String, from source: ExternalFolder) throws {
    try CoreDataErrors.translatingFiles(.persistentStoreSave) {
      guard rename(source.path(of: name), path(of: name)) == 0 else {
        throw FileError(path: path(of: name), action: "be put in place", errno: errno)
      }
    }
  }

  /// The copy takes the name in one step, also if a file has it: that one may be about to be removed.
  private func copy(_ name: String, from source: ExternalFolder) throws {
    do {
      let original = try GuardedFile(source.path(of: name), path: source.path(of: name))
      try CoreDataErrors.translatingFiles(.persistentStoreSave) {
        let copy = try ReplacingFile(path(of: name), mode: original.status.st_mode & 0o666)
        while case let part = try original.nextBytes(atMost: 1 << 18), !part.isEmpty { try copy.write(part) }
        try copy.complete(surviving: .power)
      }
    } catch let refusal as GuardedFile.Refusal {
      throw Self.failure(refusal, source.path(of: name), "a value of the store to be copied")
    }
  }

  // MARK: Removing

  /// Runs the body while no copy brings files. Nil if one does.
  ///
  /// Does not wait: who removes files has time, and tries again with the next commit or opening.
  func whileNothingComes<T>(_ body: () throws -> T) rethrows -> T? {
    guard let lock = FolderLock(path, LOCK_EX | LOCK_NB) else { return nil }
    defer { lock.release() }
    return try body()
  }

  /// Removes the files as far as they are still the same, and returns how many. Nil if a copy brings files.
  func remove(_ files: some Sequence<ExternalFile>) -> Int? {
    whileNothingComes {
      files.count { $0 == file($0.name) && unlink(path(of: $0.name)) == 0 }
    }
  }

  /// Removes the folders if nothing is in them.
  func removeIfEmpty() {
    rmdir(path)
    rmdir(support)
  }
}

/// A lock of a folder, held until it is released or freed.
private final class FolderLock {
  private let descriptor: Descriptor

  /// Nil if another process, or another user in this one, has a lock that excludes this one.
  init?(_ path: String, _ operation: Int32) {
    guard let descriptor = try? Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open") else {
      // Without the folder there is nothing to lock.
      return nil
    }
    self.descriptor = descriptor
    while flock(descriptor.number, operation) != 0 {
      guard errno == EINTR else { return nil }
    }
  }

  func release() { _ = flock(descriptor.number, LOCK_UN) }
}
