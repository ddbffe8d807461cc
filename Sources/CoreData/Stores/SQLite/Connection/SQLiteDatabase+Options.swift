extension SQLiteDatabase.Configuration {
  /// The configuration for a store's options.
  ///
  /// `synchronous = NORMAL` in WAL mode: a commit is not synced to the disk, a checkpoint is. A process may be killed
  /// at any time without losing a commit; a loss of power may lose the last commits, and never damages the file
  /// (https://www.sqlite.org/pragma.html#pragma_synchronous). `FULL` syncs each commit.
  init(_ opening: StoreOpening) throws {
    self.init(path: opening.url?.realPath ?? "")
    let options = opening.options
    isInMemory = opening.isInMemory
    sharedName = isInMemory ? opening.url?.inMemoryStoreName : nil
    isReadOnly = opening.isReadOnly
    busyTimeout = try Self.busyTimeout(options)
    if let readers = options?[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber {
      maximumReaders = readers.intValue
    }
    mustExist = opening.mustExist
    writeTurnPath = options?[NSPersistentStoreWriteTurnOption] as? String
    // In WAL mode it survives the death of processes and needs no fsync at each commit:
    // https://www.sqlite.org/pragma.html
    var pragmas = ["synchronous": "NORMAL"]
    for (key, value) in options?[NSSQLitePragmasOption] as? [String: Any] ?? [:] { pragmas[key] = "\(value)" }
    connectionPragmas = pragmas.sorted(on: { $0.key }).filter { $0.key.isPragmaWord && $0.value.isPragmaWord }
      .map { "PRAGMA \($0.key) = \($0.value)" }
  }

  /// Whether the program has chosen how many pages each connection keeps.
  var hasCacheSize: Bool { connectionPragmas.contains { $0.lowercased().hasPrefix("pragma cache_size ") } }

  /// Whether stores of one coordinator with these two share a database.
  func isSameDatabase(as other: Self) -> Bool {
    guard isInMemory == other.isInMemory else { return false }
    if isInMemory { return sharedName != nil && sharedName == other.sharedName }
    return URL(fileURLWithPath: path).isSamePlace(as: URL(fileURLWithPath: other.path))
  }

  /// The seconds to wait for another connection's lock, and for the turn to write.
  static func busyTimeout(_ options: [AnyHashable: Any]?) throws -> TimeInterval {
    guard let timeout = (options?[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue else { return 30 }
    guard !timeout.isNaN else {
      throw CoreDataErrors.error(
        .persistentStoreOpen,
        "NSPersistentStoreTimeoutOption is not a number (NaN): give the seconds to wait for a lock, infinity to wait "
          + "without a limit.")
    }
    return timeout
  }
}

extension String {
  /// Whether the text is a name or number that can be written into a PRAGMA.
  fileprivate var isPragmaWord: Bool { !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" } }
}
