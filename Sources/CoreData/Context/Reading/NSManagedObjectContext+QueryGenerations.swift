/// Reads the stores as they were at one moment.
extension NSManagedObjectContext {
  /// The generation that the context's reads see: nil for the newest state, `current` if the next read pins it, or the
  /// pinned state. A child reads what its parent reads.
  ///
  /// ```swift
  /// try context.setQueryGenerationFrom(.current)
  /// print(context.queryGenerationToken == .current)  // true: nothing was read yet
  /// _ = try context.count(for: NSFetchRequest<Book>(entityName: "Book"))
  /// print(context.queryGenerationToken == .current)  // false: it names the pinned state now
  /// ```
  ///
  /// Pass a pinned token to `setQueryGenerationFrom(_:)` of other contexts of the coordinator that have to see the same
  /// state. Read it on the context's queue.
  ///
  /// Source: Apple's documentation of `queryGenerationToken`.
  public final var queryGenerationToken: NSQueryGenerationToken? {
    checkQueue()
    if let parentContext { return parentContext.performAndWait { parentContext.queryGenerationToken } }
    return reading.token
  }

  /// Pins the state of the stores that fetches and faults see; nil unpins it.
  ///
  /// ```swift
  /// try context.setQueryGenerationFrom(.current)
  /// let books = try context.fetch(NSFetchRequest<Book>(entityName: "Book"))
  /// for book in books { print(book.author?.name ?? "") }  // as of the same moment
  /// ```
  ///
  /// A pinned context sees the same state, even if other contexts save, until it saves, merges changes, is reset, or
  /// gets another token. After the first three the next read pins it again. Objects whose values were read keep them:
  /// refresh them. Saves are not affected: changing a row that another save changed since is a conflict.
  ///
  /// While it is pinned the write-ahead log of a SQLite file only grows, and a PostgreSQL store has a transaction open:
  /// unpin a context that is idle. A file without a write-ahead log is not pinned, and neither are stores in memory,
  /// binary and XML stores.
  ///
  /// Use it for reports and exports whose fetches must agree with each other. Without it two fetches may see two
  /// states: a save between them shows in the second. Call it on the context's queue. The pin is made by the next read,
  /// not by this call.
  ///
  /// ```text
  /// this context                      another process
  /// setQueryGenerationFrom(.current)
  /// fetches 3 books: pinned
  ///                                   saves a fourth book
  /// fetches 3 books
  /// save(), or merge, or reset
  /// fetches 4 books: pinned again
  /// ```
  ///
  /// - Parameter generation: `.current`, the token of a pinned context of the same coordinator, or nil.
  /// - Throws: 134070 for a child context, and for a token of another coordinator.
  ///
  /// Source: Apple's documentation.
  public final func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    checkQueue()
    guard parentContext == nil else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The context \(label) reads what its parent reads: pin the parent.")
    }
    if let pinned = generation?.generation, pinned.owner !== coordinator {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The generation is not one of the coordinator of the context \(label).")
    }
    reading.token = generation
  }

  /// The state of the stores to read; nil for the newest. Each read asks for it, so that the first one pins.
  final func readGeneration() throws -> QueryGeneration? {
    guard reading.token != nil else { return nil }
    return try reading.pin(coordinator)
  }
}

/// The state of the stores that a context's reads see, and the control of those reads.
///
/// A pinned state lives as long as a token names it: `QueryGeneration` holds a read transaction for each store.
/// Replacing the token lets it go.
struct StoreReading {
  /// `queryGenerationToken` of a context without parent.
  var token: NSQueryGenerationToken?
  /// Whether the row cache has to be compared with the file before its next use.
  var needsCacheCheck = true
  /// Cancels and counts the fetches of a context that reads for an asynchronous one.
  var control: FetchControl?

  /// The state that the token names; the current one if it names none yet.
  mutating func pin(_ coordinator: NSPersistentStoreCoordinator?) throws -> QueryGeneration? {
    if let generation = token?.generation { return generation }
    guard let coordinator else { return nil }
    let generation = try QueryGeneration(coordinator.objectStores, of: coordinator)
    token = NSQueryGenerationToken(generation)
    return generation
  }

  /// Makes the next read of a pinned context pin the newest state.
  ///
  /// A context has to see what it has saved, and what it has merged.
  mutating func advance() {
    if token != nil { token = .current }
  }
}
