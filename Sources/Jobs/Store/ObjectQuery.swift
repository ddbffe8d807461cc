import CoreData

/// A fetch as a person writes it: an entity, a predicate and an order, checked against the model before it is run.
///
/// ```swift
/// let query = ObjectQuery(entity: "Book", predicate: "pages > 500 AND isRead == NO", sort: "-pages,title")
/// let request = try query.fetchRequest(in: model, as: NSManagedObject.self)
/// for object in try context.fetch(request) { print(object.objectID.uriString) }
/// ```
///
/// Without the check a mistyped name would end in an exception, or in an error of the database that names a column.
public struct ObjectQuery: Hashable, Sendable {
  /// The name of the entity.
  public var entity: String
  /// In the syntax of `NSPredicate(format:)`; nil is every object.
  public var predicate: String?
  /// Attributes or key paths with commas between them, `-` in front of those that sort downwards: `"name,-createdAt"`.
  public var sort: String?

  /// A query for objects of an entity; all of them, in no order, by default.
  public init(entity: String, predicate: String? = nil, sort: String? = nil) {
    self.entity = entity
    self.predicate = predicate
    self.sort = sort
  }

  /// The entity's description.
  ///
  /// ```swift
  /// do { _ = try ObjectQuery(entity: "Bok").entityDescription(in: model) } catch { print(error) }
  /// // the model has no entity Bok; did you mean Book?
  /// ```
  ///
  /// - Throws: ``ObjectQueryError`` that names the nearest entity.
  public func entityDescription(in model: NSManagedObjectModel) throws -> NSEntityDescription {
    if let description = model.entitiesByName[entity] { return description }
    throw ObjectQueryError.unknownEntity(entity, known: model.entitiesByName.keys.sorted())
  }

  /// The request to fetch the objects. It is not run, and can be given a limit and a result type.
  ///
  /// - Throws: ``ObjectQueryError``, or ``UnknownPropertyError`` for a name to sort by, or one in the predicate.
  public func fetchRequest<Result: NSFetchRequestResult>(
    in model: NSManagedObjectModel, as type: Result.Type = Result.self
  ) throws -> NSFetchRequest<Result> {
    let description = try entityDescription(in: model)
    let request = NSFetchRequest<Result>(entityName: entity)
    if let predicate {
      do {
        request.predicate = try NSPredicate.parse(format: predicate)
      } catch {
        throw ObjectQueryError.badPredicate("\(error)")
      }
      for path in request.predicate.map(Self.keyPaths(of:)) ?? [] { try check(keyPath: path, entity: description) }
    }
    request.sortDescriptors = try sort.map { try Self.descriptors($0, entity: description) }
    return request
  }

  /// The order. A path may lead along relationships to one object only: of many objects none is first.
  private static func descriptors(_ sort: String, entity: NSEntityDescription) throws -> [NSSortDescriptor] {
    try sort.split(separator: ",").map { part in
      let word = part.trimmingCharacters(in: .whitespaces)
      let isAscending = !word.hasPrefix("-")
      let path = isAscending ? word : String(word.dropFirst())
      try check(path, entity: entity)
      return NSSortDescriptor(key: path, ascending: isAscending)
    }
  }

  /// The key paths that a predicate compares, those inside of subqueries and functions left out.
  private static func keyPaths(of predicate: NSPredicate) -> [String] {
    if let compound = predicate as? NSCompoundPredicate {
      return compound.subpredicates.flatMap(keyPaths(of:))
    }
    guard let comparison = predicate as? CoreData.NSComparisonPredicate else { return [] }
    return [comparison.leftExpression, comparison.rightExpression].filter { $0.expressionType == .keyPath }
      .map(\.keyPath)
  }

  /// Checks the names of a key path as far as they are properties of the model.
  private func check(keyPath: String, entity: NSEntityDescription) throws(UnknownPropertyError) {
    var entity = entity
    for name in keyPath.split(separator: ".").map(String.init) {
      // `@count`, `SELF` and `objectID` are no properties.
      guard !name.hasPrefix("@"), !["SELF", "self", "objectID", "entity"].contains(name) else { return }
      guard let property = entity.propertiesByName[name] else {
        // A subclass may add it.
        guard entity.subentities.isEmpty else { return }
        throw UnknownPropertyError(
          entity: entity.name ?? "", property: name, known: entity.propertiesByName.keys.sorted())
      }
      guard let destination = (property as? NSRelationshipDescription)?.destinationEntity else { return }
      entity = destination
    }
  }

  private static func check(_ path: String, entity: NSEntityDescription) throws {
    var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let last = names.removeLast()
    var entity = entity
    for name in names {
      guard let relationship = entity.relationshipsByName[name], !relationship.isToMany,
        let destination = relationship.destinationEntity
      else {
        throw UnknownPropertyError(
          entity: entity.name ?? "", property: name,
          known: entity.relationshipsByName.filter { !$0.value.isToMany }.keys.sorted())
      }
      entity = destination
    }
    guard let attribute = entity.attributesByName[last], !attribute.isTransient else {
      throw UnknownPropertyError(
        entity: entity.name ?? "", property: last,
        known: entity.attributesByName.filter { !$0.value.isTransient }.keys.sorted())
    }
  }
}

/// What is wrong with a query that a person wrote.
public enum ObjectQueryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The model has no entity with this name.
  case unknownEntity(String, known: [String])
  /// The predicate cannot be read; with the reason.
  case badPredicate(String)

  /// A sentence that names the nearest entity, or says where the predicate is wrong.
  public var description: String {
    switch self {
    case .unknownEntity(let name, let entities):
      let hint = Spelling.hint(to: name, among: entities, otherwise: "it has \(entities.joined(separator: ", "))")
      return "the model has no entity \(name)\(hint)"
    case .badPredicate(let reason): return "the predicate cannot be read: \(reason)"
    }
  }
}
