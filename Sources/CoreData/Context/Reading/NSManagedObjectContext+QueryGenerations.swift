/// Reading the stores as they were at one moment.
extension NSManagedObjectContext {
  /// What the context's reads see: nil for the newest, `current` when it is pinned by its next read, or the state that
  /// it is pinned to. A child reads what its parent reads.
  public final var queryGenerationToken: NSQueryGenerationToken? {
    checkQueue()
    if let parentContext { return parentContext.performAndWait { parentContext.queryGenerationToken } }
    return reading.token
  }

  /// Pins what fetches and faults see, or lets them see the newest again with nil.
  ///
  /// A pinned context goes on seeing the same state of the stores, whatever others save, until it saves, merges others'
  /// changes, is reset, or is given another token; from the first three on it is pinned to what its next read finds.
  /// What was read before stays as read: refresh it. Saving is not affected: a change of what another has changed since
  /// is a conflict. In stores in memory and without a write-ahead log nothing is pinned.
  ///
  /// Throws for a child context, and for the token of another coordinator. Source: Apple's documentation.
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

  /// The state of the stores to read; nil for the newest.
  final func readGeneration() throws -> QueryGeneration? {
    guard reading.token != nil else { return nil }
    return try reading.pin(coordinator)
  }
}

/// What a context's reads see, and how they are watched.
struct StoreReading {
  /// `queryGenerationToken` of a context without parent.
  var token: NSQueryGenerationToken?
  /// The row cache must be compared with the file before it is next asked.
  var needsCacheCheck = true
  /// What stops and counts the fetches of a context that reads for an asynchronous one.
  var control: FetchControl?

  /// The state that the token names; what the stores have now if it names none yet.
  mutating func pin(_ coordinator: NSPersistentStoreCoordinator?) throws -> QueryGeneration? {
    if let generation = token?.generation { return generation }
    guard let coordinator else { return nil }
    let generation = try QueryGeneration(coordinator.objectStores, of: coordinator)
    token = NSQueryGenerationToken(generation)
    return generation
  }

  /// Lets a pinned context see the newest with its next read, and stay there.
  mutating func advance() {
    if token != nil { token = .current }
  }
}
