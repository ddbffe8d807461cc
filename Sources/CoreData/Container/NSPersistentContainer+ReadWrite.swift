/// Reading and writing in one call: a new context, a block on its queue, and for writing a save.
extension NSPersistentContainer {
  /// Runs the block with a new private-queue context and returns its result. Nothing is saved. An addition to Apple's
  /// API.
  ///
  /// ```swift
  /// let titles = try await container.read { context in
  ///   try context.fetch(NSFetchRequest<Book>(where: #Predicate { !$0.isRead })).compactMap(\.title)
  /// }
  /// ```
  ///
  /// The result has to be `Sendable`: the compiler refuses managed objects, which belong to the context's queue. Return
  /// values or object IDs.
  ///
  /// If another context saves between two fetches of the block, the second fetch sees its changes. Begin the block with
  /// `try context.setQueryGenerationFrom(.current)` for fetches of one state.
  ///
  /// Each call makes a context, and several calls run at the same time. Changes that the block makes are lost with the
  /// context. Cancelling the task does not stop a block that runs.
  ///
  /// It costs what a new context and the block's fetches cost. Rows that another context of the container has read come
  /// from the coordinator's row cache.
  ///
  /// - Parameter block: reads, on the context's queue. It should not wait for another context.
  /// - Returns: the block's result.
  /// - Throws: the block's error, and `CancellationError` if the task is cancelled before the call.
  nonisolated(nonsending) public final func read<Value: Sendable>(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await performBackgroundTask(block)
  }

  /// Runs the block with a new private-queue context, saves what it changed, and returns its result. An addition to
  /// Apple's API.
  ///
  /// ```swift
  /// try await container.write { context in
  ///   for book in try context.fetch(NSFetchRequest<Book>(where: #Predicate { !$0.isRead })) { book.isRead = true }
  /// }
  /// let id = try await container.write(author: "import") { context in
  ///   let book = Book(context: context)
  ///   book.title = "Emma"
  ///   try context.save()  // a new object has its permanent ID from here on
  ///   return book.objectID
  /// }
  /// ```
  ///
  /// All changes are saved in one transaction, or none: if the block or the save throws, the context is thrown away
  /// with its changes. A block that saves by itself in between has made that part permanent.
  ///
  /// The result has to be `Sendable`: the compiler refuses managed objects. The ID of a new object is temporary, and
  /// useless outside the block, until the object is saved or `obtainPermanentIDs(for:)` was called.
  ///
  /// Several calls run at the same time, and their saves take turns at the store. Two that change the same object are a
  /// conflict for the second one. With the error policy, the default, it throws 133020, `CoreDataError.conflict`: call
  /// `write` again, which reads the object anew. Another policy resolves most conflicts in the save: see
  /// `NSManagedObjectContext.mergePolicy`.
  ///
  /// `viewContext` shows the changes once it merges them: set its `automaticallyMergesChangesFromParent`.
  ///
  /// - Parameters:
  ///   - mergePolicy: the context's merge policy. Default: the error policy.
  ///   - author: the context's `transactionAuthor`, which persistent history records. Default: nil.
  ///   - block: runs on the context's queue. Cancelling the task does not stop it.
  /// - Returns: the block's result.
  /// - Throws: the block's error, those of `NSManagedObjectContext.save()`, and `CancellationError` if the task is
  ///   cancelled before the call.
  @discardableResult
  nonisolated(nonsending) public final func write<Value: Sendable>(
    mergePolicy: NSMergePolicy = .error, author: String? = nil,
    _ block: @escaping @Sendable (NSManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await performBackgroundTask { context in
      context.mergePolicy = mergePolicy
      context.transactionAuthor = author
      let value = try block(context)
      if context.hasChanges { try context.save() }
      return value
    }
  }
}
