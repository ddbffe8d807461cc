/// A property that refers to one or many objects of an entity.
///
/// ```swift
/// let notebook = NSEntityDescription()
/// notebook.name = "Notebook"
/// let note = NSEntityDescription()
/// note.name = "Note"
/// let notes = NSRelationshipDescription()
/// notes.name = "notes"
/// notes.destinationEntity = note
/// notes.deleteRule = .cascadeDeleteRule
/// let owner = NSRelationshipDescription()
/// owner.name = "notebook"
/// owner.destinationEntity = notebook
/// owner.maxCount = 1
/// notes.inverseRelationship = owner
/// owner.inverseRelationship = notes
/// notebook.properties = [notes]
/// note.properties = [owner]
/// ```
///
/// Give each relationship an inverse: Core Data then changes both ends together and finds the objects that a delete
/// rule concerns. In SQL:
///
/// ```text
/// to-one, inverse to-many     a column ZAUTHOR in the table of the to-one end, with an index
/// to-one, inverse to-one      a column in both tables
/// to-many, inverse to-many    a table Z_1BOOKS with two columns of keys
/// ordered                     one more column, the position: Z_FOK_AUTHOR
/// ```
///
/// Source: Apple's documentation of `NSRelationshipDescription`; the tables as Apple's files show them.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSRelationshipDescription: NSPropertyDescription, @unchecked Sendable {
  /// The entity of the related objects. Held weakly, since the model holds its entities.
  ///
  /// A copy of a relationship has the destination and the inverse of the original until it is in a model, and then
  /// those of the same names in that model. Part of the version hash, by its name.
  open var destinationEntity: NSEntityDescription? {
    get { namedEnds.flatMap(destination) ?? destinationAnchor?.entity }
    set {
      checkEditable()
      namedEnds?.destination = nil
      destinationAnchor = newValue?.anchor
    }
  }

  private var destinationAnchor: EntityAnchor?

  /// The relationship that leads back; nil for none. Setting a value of one changes the other too. Held weakly, since
  /// its entity holds it.
  ///
  /// Set it on both sides. A to-many relationship without an inverse is kept as a table of its own. Part of the version
  /// hash, by its name.
  open var inverseRelationship: NSRelationshipDescription? {
    get { namedEnds.flatMap(inverse) ?? inverseReference }
    set {
      checkEditable()
      namedEnds?.inverse = nil
      inverseReference = newValue
    }
  }

  private weak var inverseReference: NSRelationshipDescription?

  /// The names by which a copy, or a relationship of a model in code, finds its ends; nil once it has found them.
  private var namedEnds: Ends?

  private struct Ends {
    var destination: String?
    var inverse: String?
  }

  /// The largest number of related objects that a save accepts; 0 means any number, 1 makes a to-one relationship.
  /// Default: 0.
  ///
  /// A save that finds more throws 1590. Part of the version hash. Lightweight migration turns to-one into to-many, and
  /// not the other way round.
  open var maxCount = 0 { willSet { checkEditable() } }

  /// The smallest number of related objects that a save accepts; an optional relationship may also be empty. Default:
  /// 0.
  ///
  /// A save that finds fewer throws 1580, or 1570 for a mandatory relationship without any. Part of the version hash.
  open var minCount = 0 { willSet { checkEditable() } }

  /// What deleting an object does to the objects at the other end. Default: nullify, which clears their reference.
  /// Cascade deletes them too, deny makes the save fail with 1600 while there is one, no action leaves references to an
  /// object that no longer exists. Batch deletions apply it in the store.
  ///
  /// ```swift
  /// let books = NSRelationshipDescription()
  /// books.name = "books"
  /// books.deleteRule = .cascadeDeleteRule  // an author's books go with the author
  /// ```
  ///
  /// The rules run when the context processes its changes, at the latest before a save
  /// (`NSManagedObjectContext.propagatesDeletesAtEndOfEvent`), and need the related objects: deleting an author with a
  /// cascade fires the fault of `books` and deletes each one. The rule is no part of the version hash.
  open var deleteRule: NSDeleteRule = .nullifyDeleteRule { willSet { checkEditable() } }

  /// Whether a to-many relationship is an `NSOrderedSet` that keeps its order in the store. Default: false. Each row
  /// keeps its position, and moving a member rewrites some of them. Where the order follows from values, an unordered
  /// relationship and a sorted fetch are cheaper.
  ///
  /// Part of the version hash; lightweight migration goes both ways.
  open var isOrdered = false { willSet { checkEditable() } }

  /// Whether the value is a set, `NSOrderedSet` if it is ordered: true unless `maxCount` is 1.
  open var isToMany: Bool { maxCount != 1 }

  override func makeEmpty() -> NSPropertyDescription {
    NSRelationshipDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSRelationshipDescription else { return }
    copy.destinationEntity = destinationEntity
    copy.inverseRelationship = inverseRelationship
    copy.namedEnds = Ends(
      destination: destinationEntity?.name ?? namedEnds?.destination,
      inverse: inverseRelationship?.name ?? namedEnds?.inverse)
    copy.maxCount = maxCount
    copy.minCount = minCount
    copy.deleteRule = deleteRule
    copy.isOrdered = isOrdered
  }

  private func destination(_ ends: Ends) -> NSEntityDescription? {
    ends.destination.flatMap { owner?.model?.entitiesByName[$0] }
  }

  private func inverse(_ ends: Ends) -> NSRelationshipDescription? {
    guard let name = ends.inverse, let destination = destinationEntity, destination.model === owner?.model else {
      return nil
    }
    return destination.relationshipsByName[name]
  }

  /// Replaces the names of the ends by the descriptions that were found. Called at the latest when the model is frozen.
  final func settleEnds() {
    guard namedEnds != nil else { return }
    let (destination, inverse) = (destinationEntity, inverseRelationship)
    (destinationEntity, inverseRelationship) = (destination, inverse)
    namedEnds = nil
  }

  /// What is wrong with the ends of a relationship of a model in code, as the rest of a sentence; nil if nothing is.
  final var faultOfEnds: String? {
    let destinationName = destinationEntity?.name ?? namedEnds?.destination ?? "(none)"
    guard let destination = destinationEntity, destination.model === owner?.model else {
      return "leads to the entity \(destinationName), which does not exist"
    }
    guard let inverse = inverseRelationship else {
      return namedEnds?.inverse.map { "has the inverse \(destinationName).\($0), which does not exist" }
    }
    guard inverse.inverseRelationship !== self else { return nil }
    let other = inverse.inverseRelationship.map { "\($0.owner?.name ?? "").\($0.name)" }
    return "has the inverse \(destinationName).\(inverse.name), whose inverse is \(other ?? "not set")"
  }

  /// Destination and inverse count by their names: comparing them by value would not end.
  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSRelationshipDescription, super.hasSameValues(as: other) else { return false }
    return destinationEntity?.name == other.destinationEntity?.name
      && inverseRelationship?.name == other.inverseRelationship?.name && maxCount == other.maxCount
      && minCount == other.minCount && deleteRule == other.deleteRule && isOrdered == other.isOrdered
  }
}

extension NSRelationshipDescription {
  /// A relationship to one object, for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let author = NSRelationshipDescription("author", toOne: "Author", inverse: "books")
  /// ```
  ///
  /// Not part of Apple's API.
  ///
  /// - Parameters:
  ///   - name: the relationship's name: unique in its entity, of letters, digits and underscores.
  ///   - destination: the name of the entity of the related object.
  ///   - inverse: the name of the relationship that leads back; nil for none. Each names the other.
  ///   - deleteRule: what deleting an object does to the related one.
  ///   - configure: gets the relationship, to set its other properties.
  public convenience init(
    _ name: String, toOne destination: String, inverse: String?, deleteRule: NSDeleteRule = .nullifyDeleteRule,
    _ configure: (NSRelationshipDescription) -> Void = { _ in }
  ) {
    self.init()
    self.name = name
    self.deleteRule = deleteRule
    namedEnds = Ends(destination: destination, inverse: inverse)
    maxCount = 1
    configure(self)
  }

  /// A relationship to any number of objects, for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let books = NSRelationshipDescription("books", toMany: "Book", inverse: "author", deleteRule: .cascadeDeleteRule)
  /// ```
  ///
  /// Not part of Apple's API.
  ///
  /// - Parameters:
  ///   - name: the relationship's name: unique in its entity, of letters, digits and underscores.
  ///   - destination: the name of the entity of the related objects.
  ///   - inverse: the name of the relationship that leads back; nil for none. Each names the other.
  ///   - isOrdered: whether the store keeps an order of the related objects.
  ///   - deleteRule: what deleting an object does to the related ones.
  ///   - configure: gets the relationship, to set its other properties.
  public convenience init(
    _ name: String, toMany destination: String, inverse: String?, isOrdered: Bool = false,
    deleteRule: NSDeleteRule = .nullifyDeleteRule, _ configure: (NSRelationshipDescription) -> Void = { _ in }
  ) {
    self.init(name, toOne: destination, inverse: inverse, deleteRule: deleteRule)
    maxCount = 0
    self.isOrdered = isOrdered
    configure(self)
  }
}
