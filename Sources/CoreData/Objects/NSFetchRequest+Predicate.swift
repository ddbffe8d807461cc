extension NSFetchRequest where ResultType: NSManagedObject {
  /// A request from Foundation's predicate macro and Swift's sort descriptors, for the entity of the class. An addition
  /// to Apple's API.
  ///
  /// ```swift
  /// let request = try NSFetchRequest<Book>(
  ///   where: #Predicate { $0.pages > 300 && !$0.isRead }, sortedBy: [SortDescriptor(\.title)])
  /// request.fetchLimit = 20
  /// let books = try context.fetch(request)
  /// ```
  ///
  /// `NSPredicate.init(_:)` and `NSSortDescriptor.init(_:)` say how they are translated; those give nil or trap where
  /// this throws. Texts are sorted as by `localizedStandardCompare:` unless the descriptor
  /// says `.lexical`. The entity is the one that models in use have for the class, as `Book.entity()` finds it; any
  /// thread.
  ///
  /// Take it where the compiler should check property names and types; `NSPredicate(format:)` is for conditions that
  /// are data, and for those that the macro cannot express. The predicate is translated once, when the request is made,
  /// and the fetch costs what one with the format costs.
  ///
  /// - Parameters:
  ///   - predicate: over properties of the class that are in the model.
  ///   - sortDescriptors: the most significant first. Default: an empty array, which leaves the order open.
  /// - Throws: 134070 with a sentence that names the part of the predicate or the sort descriptor that cannot be
  ///   translated, or the class that no model in use has. A property outside the model is named by its type and class:
  ///   Swift does not keep its name. A transient property is translated; a fetch from SQLite or a server then throws.
  public convenience init(
    where predicate: Predicate<ResultType>, sortedBy sortDescriptors: [SortDescriptor<ResultType>] = []
  ) throws {
    guard let name = LoadedModels.entity(for: ResultType.self)?.name else {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "No model in use, or more than one, has an entity of the class \(ResultType.self): "
          + "use NSFetchRequest(entityName:).")
    }
    self.init(entityName: name)
    do {
      settings.predicate = try PredicateConversion.predicate(of: predicate)
    } catch let error as PredicateConversion.Unsupported {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The #Predicate of a request for \(name) cannot be translated: \(error).")
    }
    settings.sortDescriptors = try sortDescriptors.map { descriptor in
      if let translated = KeyedSortDescriptor.descriptor(for: descriptor) { return translated }
      let part = descriptor.keyPath?.unnamedProperty ?? "A comparator without a property"
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "A sort descriptor of a request for \(name) cannot be translated: \(part) has no counterpart in "
          + "NSSortDescriptor.")
    }
  }
}
