/// Entities by class and name, and the creation of objects by an entity's name.
extension NSManagedObjectContext {
  /// The model's entity for a class, cached: `Book(context:)` asks for it with each object. The model itself compares
  /// names of classes, which takes longer than making the object. Nil if the model gives no entity the class; entities
  /// of several models may share a class, so the context's own model decides.
  final func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    let identifier = ObjectIdentifier(type)
    if let lastClass, lastClass.type == identifier { return lastClass.entity }
    let entity = entitiesByClass[identifier] ?? persistentStoreCoordinator?.managedObjectModel.entity(for: type)
    entitiesByClass[identifier] = entity
    lastClass = entity.map { (identifier, $0) }
    return entity
  }

  /// Sets the store of a new object, where several stores of the coordinator can hold its entity. The default is the
  /// first writable store that holds it, in the order in which the stores were added.
  ///
  /// ```swift
  /// let draft = Book(context: context)
  /// if let store = coordinator.persistentStore(for: url) { context.assign(draft, to: store) }
  /// ```
  ///
  /// Does nothing for an object that is not new, and for another coordinator's store. Traps for an object of another
  /// context. A relationship cannot lead to an object of another store (the save throws 134030), so assign an object
  /// together with those to which it refers. The assignment ends with a save, a rollback or a reset, and when the
  /// object is deleted; undoing the deletion brings it back.
  ///
  /// Configurations divide entities between stores; this method divides objects of one entity. Call it on the context's
  /// queue, before the save or `obtainPermanentIDs(for:)`. It costs nothing.
  ///
  /// - Parameters:
  ///   - object: a new object of this context.
  ///   - store: an open, writable store that holds the object's entity. With any other store the save throws.
  ///
  /// Source: Apple's documentation of `assign(_:to:)`.
  public final func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject, object.objectID.isTemporaryID,
      let objectStore = persistentStoreCoordinator?.objectStores(among: [store]).first
    else { return }
    requireNoOtherContext(of: object, "assigned to a store in")
    changes.assign(object, to: objectStore)
  }
}

extension NSEntityDescription {
  /// The entity of a name in the model of the context's coordinator; nil for an unknown name, and for a context without
  /// a coordinator.
  ///
  /// ```swift
  /// if let entity = NSEntityDescription.entity(forEntityName: "Book", in: context) {
  ///   print(entity.attributesByName.keys.sorted())
  /// }
  /// ```
  ///
  /// Where the class is known, `Book.entity()` needs no name. Any thread may call it.
  ///
  /// - Parameters:
  ///   - entityName: the name in the model, not that of the class.
  ///   - context: a context with a coordinator, directly or through its parent.
  ///
  /// Source: Apple's documentation of `entity(forEntityName:in:)`.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[entityName]
  }

  /// Creates a new object of the named entity in the context, of the class that the model names. Traps if the model has
  /// no such entity, or if it is abstract.
  ///
  /// ```swift
  /// let object = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
  /// object.setValue("Emma", forKey: "title")
  /// ```
  ///
  /// Use it where the class is not known at compile time; otherwise `Book(context:)` does the same and returns a
  /// `Book`. Call it on the context's queue.
  ///
  /// - Parameters:
  ///   - entityName: the name in the model, not that of the class.
  ///   - context: the context that gets the object.
  /// - Returns: an object of the entity's class, with the model's default values, after its `awakeFromInsert()`.
  ///
  /// Source: Apple's documentation of `insertNewObject(forEntityName:into:)`.
  @discardableResult
  public class func insertNewObject(forEntityName entityName: String, into context: NSManagedObjectContext)
    -> NSManagedObject
  {
    guard let entity = entity(forEntityName: entityName, in: context) else {
      fatalError("The context's model has no entity named \"\(entityName)\".")
    }
    require(!entity.isAbstract, "The entity \(entityName) is abstract: it has no objects of its own.")
    let object = entity.layout.objectClass.init(unborn: entity)
    context.insert(object)
    return object
  }
}
