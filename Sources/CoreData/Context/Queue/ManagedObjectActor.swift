/// An actor that owns a context: its methods run on the context's queue and use managed objects directly.
///
/// ```swift
/// actor Library: ManagedObjectActor {
///   nonisolated let executor: ManagedObjectContextExecutor
///
///   init(_ container: NSPersistentContainer) {
///     executor = ManagedObjectContextExecutor(container.newBackgroundContext())
///   }
///
///   func add(_ title: String) throws -> NSManagedObjectID {
///     let book = Book(context: context)
///     book.title = title
///     try context.save()
///     return book.objectID
///   }
///
///   func title(of id: NSManagedObjectID) throws -> String? { try object(id, as: Book.self).title }
/// }
/// ```
///
/// Callers write `try await library.add("Emma")`. Parameters and results cross from one queue to another, so they are
/// values and object IDs: the compiler refuses a method that returns a managed object to code outside. The actor may
/// keep objects in its properties.
///
/// Other methods of the actor may run at each `await` in a method. They see the unsaved changes, and they may save them
/// or roll them back: change and save without an `await` in between. A method without one runs as a whole.
///
/// `perform` and `performAndWait` of the actor's context run inline in the actor's methods. A method that waits for
/// another context's `performAndWait` blocks its own queue meanwhile, so two contexts that are not parent and child
/// must not wait for each other. The context's event ends when a method returns or awaits, which observers may hear a
/// moment after the caller goes on; a save tells them before it returns. Task-local values are those of the calling
/// task.
///
/// The actor may be released on any thread, with its context and objects; unsaved changes are lost without an error. An
/// `isolated deinit` runs on the context's queue.
///
/// Not part of Apple's API.
public protocol ManagedObjectActor: Actor {
  /// The executor of the actor's context. Declare it as `nonisolated let`: Swift's runtime does not retain it, so an
  /// executor that is made anew for each access ends the process with a message.
  nonisolated var executor: ManagedObjectContextExecutor { get }
}

extension ManagedObjectActor {
  /// The executor in the form that Swift's runtime asks for. Programs do not call it.
  ///
  /// The runtime asks for it at each hop to the actor and keeps only an unowned reference. So the getter tests that the
  /// actor retains the executor: one that a computed property makes would be freed before the job runs.
  ///
  /// Source: https://developer.apple.com/documentation/swift/actor/unownedexecutor.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    var executor = executor
    require(
      !isKnownUniquelyReferenced(&executor),
      "The actor \(Self.self) makes its executor anew for each access: store it in a constant, \"nonisolated let\".")
    return executor.asUnownedSerialExecutor()
  }

  /// The actor's context. Only use it in the actor's own code: it is `Sendable`, like all contexts, so the compiler
  /// lets it leave the actor.
  ///
  /// Pass object IDs and values out of the actor, and never the context.
  public var context: NSManagedObjectContext { executor.context }

  /// The objects, IDs or dictionaries that the request asks for: `NSManagedObjectContext.fetch(_:)`, whose errors it
  /// throws.
  ///
  /// ```swift
  /// actor Library: ManagedObjectActor {
  ///   nonisolated let executor: ManagedObjectContextExecutor
  ///   init(_ context: NSManagedObjectContext) { executor = ManagedObjectContextExecutor(context) }
  ///
  ///   func titles() throws -> [String] {
  ///     try fetch(NSFetchRequest<Book>(entityName: "Book")).compactMap(\.title)
  ///   }
  /// }
  /// ```
  ///
  /// The compiler knows that the objects belong to the actor, and refuses to hand them to other tasks and actors. Of an
  /// object that `Book(context:)` or the context itself returns, it refuses that only once the actor has kept it.
  ///
  /// It costs what the context's method costs. Only the actor's own code can use the objects; callers outside may fetch
  /// object IDs.
  ///
  /// - Parameter request: any request whose results are of its type.
  /// - Returns: the results; objects among them belong to the actor.
  /// - Throws: the errors of `NSManagedObjectContext.fetch(_:)`, such as 134070 for an entity that the model lacks.
  public func fetch<ResultType: NSFetchRequestResult>(_ request: NSFetchRequest<ResultType>) throws -> [ResultType] {
    try context.fetch(request)
  }

  /// The object of the ID with its values read, as an object of the actor.
  ///
  /// ```swift
  /// actor Library: ManagedObjectActor {
  ///   nonisolated let executor: ManagedObjectContextExecutor
  ///   init(_ context: NSManagedObjectContext) { executor = ManagedObjectContextExecutor(context) }
  ///
  ///   func markAsRead(_ id: NSManagedObjectID) throws {
  ///     try object(id, as: Book.self).isRead = true
  ///     try context.save()
  ///   }
  /// }
  /// ```
  ///
  /// Object IDs are how callers name objects to the actor. An object that the context has costs nothing; another one
  /// comes from the row cache or from one query.
  ///
  /// - Parameters:
  ///   - id: the ID of an object of a store that the actor's context has.
  ///   - type: the class that the caller expects.
  /// - Returns: the actor's own instance of the object.
  /// - Throws: 133000 if the object has no row, 134070 if it is of another class, and the stores' errors.
  public func object<Object: NSManagedObject>(_ id: NSManagedObjectID, as type: Object.Type) throws -> Object {
    try context.existingObject(with: id, as: type)
  }
}
