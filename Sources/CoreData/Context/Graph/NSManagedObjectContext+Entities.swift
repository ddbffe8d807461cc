/// Entities by class and name, and the creation of objects by an entity's name.
extension NSManagedObjectContext {
  /// The model's entity for a class, cached.
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
  /// Does nothing for an object that is not new, and for another coordinator's store. A relationship cannot lead to an
  /// object of another store: the save throws 134030 then.
  public final func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject, object.objectID.isTemporaryID,
      let objectStore = persistentStoreCoordinator?.objectStores(among: [store]).first
    else { return }
    changes.assign(object, to: objectStore)
  }
}

extension NSEntityDescription {
  /// The entity of a name in the model of the context's coordinator; nil for an unknown name, and for a context without
  /// a coordinator.
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
  /// It serves where the class is not known at compile time; otherwise `Book(context:)` says the same with a type. Call
  /// it on the context's queue.
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
