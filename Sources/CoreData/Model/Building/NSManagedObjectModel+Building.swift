extension NSManagedObjectModel {
  /// A model that is written in code, as the model editor shows it: entities, each with its attributes, relationships,
  /// indexes and subentities.
  ///
  /// ```swift
  /// let model = try NSManagedObjectModel {
  ///   NSEntityDescription("Author", Author.self, unique: [["name"]]) {
  ///     NSAttributeDescription("name", .string, isOptional: false)
  ///     NSRelationshipDescription("books", toMany: "Book", inverse: "author", deleteRule: .cascadeDeleteRule)
  ///     NSDerivedAttributeDescription("bookCount", .integer64, from: NSExpression(format: "books.@count"))
  ///   }
  ///   NSEntityDescription("Book", Book.self) {
  ///     NSAttributeDescription("title", .string)
  ///     NSAttributeDescription("pages", .integer64, default: 0, isOptional: false)
  ///     NSAttributeDescription("cover", .binaryData) { $0.allowsExternalBinaryDataStorage = true }
  ///     NSRelationshipDescription("author", toOne: "Author", inverse: "books")
  ///     NSFetchIndexDescription("byTitle", on: "title")
  ///     NSEntityDescription("Comic") {
  ///       NSAttributeDescription("artist", .string)
  ///     }
  ///   }
  /// }
  /// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
  /// ```
  ///
  /// The initialisers are short forms: the settings that they lack can be set until a coordinator uses the model. `if`,
  /// `for` and `let` work in the braces. The version hashes are those of the same model in a file, so both open the
  /// same stores.
  ///
  /// Make it once and keep it. Making it takes about as long as reading a small file. Classes may declare their
  /// properties with `@NSManaged` only if `ModelCompilerPlugin` finds their declarations in the target.
  ///
  /// Not part of Apple's API.
  ///
  /// - Throws: `ManagedObjectModelError` with the file and line of this call, the entity and the property: for a name
  ///   that is empty, or used twice in a model, an entity or a composite attribute; for a relationship whose
  ///   destination or inverse does not exist, or whose inverse has another inverse; for an index, a constraint or a
  ///   fetched property that names something that does not exist; for an entity of another model.
  public convenience init(
    file: String = #filePath, line: Int = #line, @Builder<NSEntityDescription> _ entities: () -> [NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    self.init()
    let entities = entities().flatMap(\.withSubentities)
    let check = ModelCheck(file: URL(fileURLWithPath: file), line: line)
    try check.names(of: entities)
    self.entities = entities
    for entity in entities { try check.references(of: entity, in: self) }
    for case let relationship as NSRelationshipDescription in entities.flatMap(\.declaredProperties) {
      relationship.settleEnds()
    }
  }

  /// Collects the parts in the braces of a model, an entity or a composite attribute.
  ///
  /// Not part of Apple's API.
  @resultBuilder public enum Builder<Part> {
    /// One part.
    public static func buildExpression(_ part: Part) -> [Part] { [part] }
    /// A statement that makes no part, such as an assignment.
    public static func buildExpression(_ nothing: Void) -> [Part] { [] }
    /// All parts in braces.
    public static func buildBlock(_ parts: [Part]...) -> [Part] { parts.flatMap(\.self) }
    /// The parts of an `if`.
    public static func buildOptional(_ parts: [Part]?) -> [Part] { parts ?? [] }
    /// The parts of the first branch of an `if` or `switch`.
    public static func buildEither(first parts: [Part]) -> [Part] { parts }
    /// The parts of another branch of an `if` or `switch`.
    public static func buildEither(second parts: [Part]) -> [Part] { parts }
    /// The parts of a `for`.
    public static func buildArray(_ parts: [[Part]]) -> [Part] { parts.flatMap(\.self) }
  }
}

/// Finds the mistakes in a model that is written in code.
///
/// A file of Xcode's is checked when it is compiled; a model in code is checked here, in two passes. `names(of:)` runs
/// before the entities belong to the model, `references(of:in:)` afterwards, when ends of relationships can be looked
/// up.
///
/// The errors have the place of the call that makes the model, not that of the entity, since closures of a result
/// builder do not know their lines.
private struct ModelCheck {
  let file: URL
  let line: Int

  /// Throws for a name that is used twice, and for an entity of another model.
  func names(of entities: [NSEntityDescription]) throws(ManagedObjectModelError) {
    try unique(entities.map { $0.name ?? "" }, entity: nil)
    for entity in entities {
      if entity.model != nil { throw error(entity.name, nil, "belongs to another model: use a copy of it") }
      try unique(entity.declaredProperties.map(\.name), entity: entity.name)
      try unique(entity.indexes.map { $0.name }, entity: entity.name)
      for case let composite as NSCompositeAttributeDescription in entity.declaredProperties {
        try elements(of: composite, path: composite.name, entity.name)
      }
    }
  }

  /// Names of elements are unique in their composite attribute, at each level.
  private func elements(
    of composite: NSCompositeAttributeDescription, path: String, _ entity: String?
  ) throws(ManagedObjectModelError) {
    try unique(composite.elements.map(\.name), entity: entity, inside: path + ".")
    for case let part as NSCompositeAttributeDescription in composite.elements {
      try elements(of: part, path: "\(path).\(part.name)", entity)
    }
  }

  /// Throws for the first name that is empty or used twice.
  private func unique(_ names: [String], entity: String?, inside path: String = "") throws(ManagedObjectModelError) {
    var known: Set<String> = []
    for name in names {
      guard !name.isEmpty else {
        throw error(entity, nil, entity == nil ? "has an entity without a name" : "has a property without a name")
      }
      guard known.insert(name).inserted else {
        throw entity == nil ? error(name, nil, "is there twice") : error(entity, path + name, "is there twice")
      }
    }
  }

  /// Throws if the entity names a destination, an inverse, an entity or a property that does not exist.
  ///
  /// It also sets the entity of a fetched property's request, which until now has only the entity's name.
  func references(
    of entity: NSEntityDescription, in model: NSManagedObjectModel
  ) throws(ManagedObjectModelError) {
    for property in entity.declaredProperties {
      if let fault = (property as? NSRelationshipDescription)?.faultOfEnds {
        throw error(entity.name, property.name, fault)
      }
      guard let request = (property as? NSFetchedPropertyDescription)?.fetchRequest else { continue }
      guard let fetched = model.entitiesByName[request.entityName ?? ""] else {
        throw error(
          entity.name, property.name, "fetches the entity \(request.entityName ?? "(none)"), which does not exist")
      }
      request.entity = fetched
    }
    let properties = entity.propertiesByName
    for name in entity.uniquenessConstraints.flatMap(entity.names)
    where properties[String(name.prefix { $0 != "." })] == nil {
      throw error(entity.name, nil, "has a uniquenessConstraint over \(name), which does not exist")
    }
    for index in entity.indexes {
      for element in index.elements where element.property == nil {
        throw error(
          entity.name, nil,
          "has the fetch index \(index.name) over \(element.propertyName ?? ""), which does not exist")
      }
    }
  }

  private func error(_ entity: String?, _ property: String?, _ reason: String) -> ManagedObjectModelError {
    ManagedObjectModelError(file, line: line, entity: entity, property: property, reason)
  }
}

extension NSEntityDescription {
  fileprivate var withSubentities: [NSEntityDescription] { [self] + subentities.flatMap(\.withSubentities) }
}
