import ModelFiles

/// The accessors of one property.
struct PropertySource {
  let property: ModelProperty
  let name: SwiftName
  private let type: PropertyType
  private let notes: SwiftNotes
  private let destination: String

  init(
    _ property: ModelProperty, of entity: ModelEntity, in document: ModelDocument
  ) throws(ManagedObjectModelError) {
    notes = try SwiftNotes(property, of: entity, in: document)
    guard let name = SwiftName(notes.name ?? property.name) else {
      throw document.error(
        property.node, entity: entity.name, property: property.name, "has a name that Swift does not allow")
    }
    guard !SwiftName.reserved.contains(name.plain) else {
      throw document.error(
        property.node, entity: entity.name, property: property.name,
        "has a name that NSManagedObject uses itself: choose another one")
    }
    self.property = property
    self.name = name
    type = try PropertyType(property, notes, of: entity, in: document)
    switch property.kind {
    case .relationship(let relationship): destination = document.className(ofEntity: relationship.destinationName)
    case .attribute, .fetched: destination = ""
    }
  }

  /// Whether the property can be an object's `id`.
  var isHashable: Bool { type.isHashable }

  /// The underscore keeps the name apart from keywords and from the members that every Swift type has.
  private var keyName: String { "_\(name.plain)" }

  /// The declaration of the key that finds the property's place in an object.
  var keyDeclaration: String {
    "static let \(keyName) = CoreData.ManagedProperty<\(type.storedName)>(\(property.name.swiftLiteral))"
  }

  func declaration(keys: String) -> String {
    let isReadOnly = if case .fetched = property.kind { true } else { false }
    let place = "self[\(keys).\(keyName)]"
    let getter = "    get { \(type.value(of: place)) }"
    let setter = isReadOnly ? "" : "\n    set { \(place) = \(type.stored("newValue")) }"
    return notes.docstring(indent: "  ")
      + "  \(notes.access ?? "public") var \(name): \(type.swiftName) {\n\(getter)\(setter)\n  }\n"
  }

  /// The methods that change a to-many relationship.
  var mutators: String? {
    guard case .relationship(let relationship) = property.kind, relationship.isToMany else { return nil }
    let key = property.name.swiftLiteral
    let add = name.behind("addTo")
    let remove = name.behind("removeFrom")
    let collection = relationship.isOrdered ? "Foundation.NSOrderedSet" : "Foundation.NSSet"
    let unordered = """
        public func \(add)(_ value: \(destination)) { addObject(value, toRelationship: \(key)) }
        public func \(remove)(_ value: \(destination)) { removeObject(value, fromRelationship: \(key)) }
        public func \(add)(_ values: \(collection)) { addObjects(values, toRelationship: \(key)) }
        public func \(remove)(_ values: \(collection)) { removeObjects(values, fromRelationship: \(key)) }
        public func \(add)(_ values: some Swift.Collection<\(destination)>) {
          addObjects(values, toRelationship: \(key))
        }
        public func \(remove)(_ values: some Swift.Collection<\(destination)>) {
          removeObjects(values, fromRelationship: \(key))
        }

      """
    guard relationship.isOrdered else { return unordered }
    let insert = name.behind("insertInto")
    let replace = name.behind("replace")
    return unordered + """
        public func \(insert)(_ value: \(destination), at idx: Swift.Int) {
          insertObjects([value], at: Foundation.NSIndexSet(index: idx), inRelationship: \(key))
        }
        public func \(insert)(_ values: [\(destination)], at indexes: Foundation.NSIndexSet) {
          insertObjects(values, at: indexes, inRelationship: \(key))
        }
        public func \(remove)(at idx: Swift.Int) {
          removeObjects(at: Foundation.NSIndexSet(index: idx), fromRelationship: \(key))
        }
        public func \(remove)(at indexes: Foundation.NSIndexSet) {
          removeObjects(at: indexes, fromRelationship: \(key))
        }
        public func \(replace)(at idx: Swift.Int, with value: \(destination)) {
          replaceObjects(at: Foundation.NSIndexSet(index: idx), with: [value], inRelationship: \(key))
        }
        public func \(replace)(at indexes: Foundation.NSIndexSet, with values: [\(destination)]) {
          replaceObjects(at: indexes, with: values, inRelationship: \(key))
        }

      """
  }
}
