import CoreData

extension JobRequest {
  /// A job about these objects, of which new ones get their permanent IDs for it. Called on the queue of their context.
  ///
  /// ```swift
  /// let author = Author(context: context)
  /// let request = try JobRequest(kind: "index", objects: [author, book])
  /// try Job.submit(request, into: context)
  /// try context.save()  // the author and the job about it
  /// ```
  ///
  /// - Throws: what `obtainPermanentIDs(for:)` throws; ``JobObjectNameError`` for an object that is in no context, or
  ///   was deleted before it was ever saved.
  public init(kind: String, objects: some Collection<NSManagedObject>) throws {
    for object in objects where object.objectID.isTemporaryID {
      try object.managedObjectContext?.obtainPermanentIDs(for: [object])
      guard !object.objectID.isTemporaryID else {
        throw JobObjectNameError(uri: object.objectID.uriString, isTemporary: true)
      }
    }
    self.init(kind: kind, objects: objects.map(\.objectID.uriString))
  }

  /// The same with parameters: any `Encodable` value, which a worker reads with `job.parameters(as:)`. A string is the
  /// text of the parameters.
  ///
  /// - Throws: what ``init(kind:objects:)`` and ``init(kind:objects:parameters:)`` throw.
  @_disfavoredOverload
  public init(
    kind: String, objects: some Collection<NSManagedObject>, parameters: some Encodable
  ) throws {
    try self.init(kind: kind, objects: objects)
    self.parameters = try JobRequest(kind: kind, parameters: parameters).parameters
  }

  /// The URIs of the job's objects as every process knows them: a new object of the context that is named by its
  /// temporary ID gets its permanent one.
  ///
  /// - Throws: ``JobObjectNameError``, or what `obtainPermanentIDs(for:)` throws.
  func permanentObjects(in context: NSManagedObjectContext) throws -> [String] {
    try objects.map { uri in
      if ObjectURI(uri) != nil { return uri }
      let isTemporary = TemporaryObjectURI(uri) != nil
      guard isTemporary, let object = context.newObject(forTemporaryURI: uri) else {
        throw JobObjectNameError(uri: uri, isTemporary: isTemporary)
      }
      try context.obtainPermanentIDs(for: [object])
      return object.objectID.uriString
    }
  }
}

/// A job names an object in a way by which no worker could find it.
public struct JobObjectNameError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The URI in the request.
  public let uri: String
  /// Whether it has the form of the ID that a new object has until it is saved.
  public let isTemporary: Bool

  /// A sentence that says what to write instead.
  public var description: String {
    isTemporary
      ? "\(uri) is a temporary ID, and no new object in the context of the job has it: insert both into one context, "
        + "or save the object first"
      : "\(uri) is not the URI of an object; x-coredata://STORE/ENTITY/pNUMBER is expected"
  }
}
