/// Inserts many rows of one entity directly into the store: no objects are made and no context is told. Only mandatory
/// values (1570) and the width of numbers (1610, 1620) are validated.
///
/// ```swift
/// var number = 0
/// let request = NSBatchInsertRequest(entityName: "Book") { (row: NSMutableDictionary) in
///   if number == 100_000 { return true }
///   number += 1
///   row["title"] = "Volume \(number)"
///   return false
/// }
/// request.resultType = .count
/// let result = try context.execute(request) as? NSBatchInsertResult
/// print(result?.result as? Int ?? 0)
/// ```
///
/// Attributes that a row does not name get the model's default values; an unknown name fails the request. A dictionary
/// sets a to-one relationship by the ID of an object in the same store, unless its other end is to-one as well. If a
/// row's unique values exist in the store, the merge policy of the executing context decides: `error` fails the whole
/// request with 133021, the store-trump policy and `rollback` skip the new row, the object-trump policy and
/// `overwrite` write the values that the new row names into the existing one.
///
/// It is one transaction, whatever the number of rows, and other writers wait for it; nothing is written if it throws.
/// A handler fills the same dictionary or object for each row, so memory does not grow with the rows. Tell contexts by
/// passing `.objectIDs` results to `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` under
/// `NSInsertedObjectsKey`.
///
/// Executing it throws 134070 for an unknown or abstract entity, an unknown key, and a value of another type; 134091
/// for a store that takes no batch requests (in memory, binary, XML); 134030 if all stores with the entity are
/// read-only. The rows go into the first writable store.
///
/// Take it for more rows than a program wants to hold as objects: an import, or the first content of a store. Take
/// objects and saves where hooks, validation or to-many relationships count. Execute it on the context's queue, best in
/// a background context: the call returns when all rows are committed.
///
/// What a save of objects and a batch insertion do:
///
/// | | Objects and `save()` | `NSBatchInsertRequest` |
/// | --- | --- | --- |
/// | `awakeFromInsert()`, `willSave()`, validation | called | not called |
/// | mandatory values | 1570 | 1570 |
/// | default values of the model | set | set |
/// | to-many relationships | set | not possible |
/// | memory | each object until the save | a few rows |
/// | contexts | know the objects | need a merge |
/// | undo | possible | not possible |
///
/// Source: Apple's documentation of `NSBatchInsertRequest`.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The entity of the rows; nil if the request was made with a name.
  open private(set) var entity: NSEntityDescription?
  /// The name of the entity, looked up in the model of the executing context's coordinator.
  ///
  /// Of a request that was made with an entity: that one's name.
  ///
  /// Source: Apple's documentation of `entityName`.
  open private(set) var entityName: String

  /// The values of each row by the name of an attribute or a to-one relationship, `NSNull` for nil. Nil if the request
  /// has a handler.
  ///
  /// All rows are in memory at once; a handler makes them one by one.
  ///
  /// Source: Apple's documentation of `objectsToInsert`.
  open var objectsToInsert: [[String: Any]]?

  /// Called on the executing thread once for each row with an empty dictionary: fill it and return false, or return
  /// true without filling it when there are no more rows.
  ///
  /// ```swift
  /// let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
  /// var next = lines.startIndex
  /// let request = NSBatchInsertRequest(entityName: "Book") { (row: NSMutableDictionary) in
  ///   guard next < lines.endIndex else { return true }
  ///   row["title"] = String(lines[next])
  ///   next += 1
  ///   return false
  /// }
  /// try context.execute(request)
  /// ```
  ///
  /// The store's transaction is open while it is called: a handler that waits for a network keeps other writers
  /// waiting. Do not save or execute a request in the handler. All calls get the same dictionary, emptied.
  ///
  /// Source: Apple's documentation of `dictionaryHandler`.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?

  /// Called on the executing thread once for each row with an object that has no context: fill it and return false, or
  /// return true when there are no more rows. All calls get the same object, with the default values set again.
  ///
  /// The compiler checks names and types of accessors, where a dictionary's keys are text. A row costs no allocation.
  /// Do not keep the object: the next call changes it.
  ///
  /// Source: Apple's documentation of `managedObjectHandler`.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)?

  /// The form of the result. Default: `.statusOnly`.
  ///
  /// ```swift
  /// let rows: [[String: Any]] = [["title": "Emma"], ["title": "Persuasion"]]
  /// let request = NSBatchInsertRequest(entityName: "Book", objects: rows)
  /// request.resultType = .objectIDs
  /// let ids = (try context.execute(request) as? NSBatchInsertResult)?.result as? [NSManagedObjectID] ?? []
  /// ```
  ///
  /// IDs take memory for each row, so ask for them only where contexts have to be told.
  ///
  /// Source: Apple's documentation of `resultType`.
  open var resultType: NSBatchInsertRequestResultType = .statusOnly

  private init(entity: NSEntityDescription?, name: String) {
    self.entity = entity
    entityName = name
    super.init()
  }

  /// Inserts a row for each dictionary, which has values by attribute name, and object IDs by the name of a to-one
  /// relationship.
  ///
  /// ```swift
  /// let rows: [[String: Any]] = [["title": "Emma", "pages": 474], ["title": "Persuasion", "author": author.objectID]]
  /// try context.execute(NSBatchInsertRequest(entityName: "Book", objects: rows))
  /// ```
  ///
  /// - Parameters:
  ///   - entityName: looked up in the executing context's model.
  ///   - dictionaries: values that the attribute's type can be made of: any number for a number, `NSNull` for nil.
  ///
  /// Source: Apple's documentation of `init(entityName:objects:)`.
  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) {
    self.init(entity: nil, name: entityName)
    objectsToInsert = dictionaries
  }

  /// Inserts a row for each dictionary, which has values by attribute name.
  ///
  /// ```swift
  /// try context.execute(NSBatchInsertRequest(entity: Book.entity(), objects: [["title": "Emma"]]))
  /// ```
  ///
  /// Source: Apple's documentation of `init(entity:objects:)`.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity: entity, name: entity.name ?? "")
    objectsToInsert = dictionaries
  }

  /// Inserts the rows that a handler fills in, one dictionary at a time: see `dictionaryHandler`.
  ///
  /// See `NSBatchInsertRequest` for an example. Write the type of the closure's parameter, `(row:
  /// NSMutableDictionary)`: the overload with an object has the same shape.
  ///
  /// Source: Apple's documentation of `init(entityName:dictionaryHandler:)`.
  public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entity: nil, name: entityName)
    dictionaryHandler = handler
  }

  /// Inserts the rows that a handler fills in, one dictionary at a time: see `dictionaryHandler`.
  public convenience init(
    entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entity: entity, name: entity.name ?? "")
    dictionaryHandler = handler
  }

  /// Inserts the rows that a handler fills in, one object at a time: see `managedObjectHandler`.
  ///
  /// ```swift
  /// var numbers = (1...1000).makeIterator()
  /// let request = NSBatchInsertRequest(entityName: "Book") { (object: NSManagedObject) in
  ///   guard let book = object as? Book, let number = numbers.next() else { return true }
  ///   book.title = "Volume \(number)"
  ///   return false
  /// }
  /// try context.execute(request)
  /// ```
  ///
  /// Setting a relationship of the object fails the request (134070): use dictionaries for to-one relationships.
  ///
  /// Source: Apple's documentation of `init(entityName:managedObjectHandler:)`.
  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entity: nil, name: entityName)
    managedObjectHandler = handler
  }

  /// Inserts the rows that a handler fills in, one object at a time: see `managedObjectHandler`.
  public convenience init(
    entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entity: entity, name: entity.name ?? "")
    managedObjectHandler = handler
  }

  open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSBatchInsertRequest(entity: entity, name: entityName)
    copy.objectsToInsert = objectsToInsert
    copy.dictionaryHandler = dictionaryHandler
    copy.managedObjectHandler = managedObjectHandler
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }
}

/// The form of a batch insertion's result. Raw values are Apple's.
///
/// Source: Apple's documentation of `NSBatchInsertRequestResultType`.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// `true`.
  ///
  /// An error is thrown, never returned as `false`.
  case statusOnly = 0
  /// The IDs of the rows that were inserted, or that the object-trump policy updated: `[NSManagedObjectID]`.
  ///
  /// What `mergeChanges(fromRemoteContextSave:into:)` wants under `NSInsertedObjectsKey`.
  case objectIDs = 1
  /// The number of these rows: `Int`.
  ///
  /// Rows that a policy skipped do not count.
  case count = 2
}

/// What executing an `NSBatchInsertRequest` gives: cast `result` to the type that `resultType` says.
///
/// ```swift
/// let request = NSBatchInsertRequest(entityName: "Book", objects: [["title": "Emma"]])
/// request.resultType = .objectIDs
/// let result = try context.execute(request) as? NSBatchInsertResult
/// let inserted: [AnyHashable: Any] = [NSInsertedObjectsKey: result?.result ?? []]
/// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: inserted, into: [container.viewContext])
/// ```
///
/// Source: Apple's documentation of `NSBatchInsertResult`.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// A `Bool`, an array of object IDs or an `Int`, by `resultType`.
  public let result: Any?
  /// The form that the request asked for.
  public let resultType: NSBatchInsertRequestResultType

  init(_ rows: BatchResult, _ type: NSBatchInsertRequestResultType) {
    resultType = type
    result =
      switch type {
      case .statusOnly: true
      case .objectIDs: rows.ids
      case .count: rows.count
      }
    super.init()
  }
}
