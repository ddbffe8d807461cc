/// An index that the store keeps for faster fetches: see `NSEntityDescription.indexes` for how to add one.
///
/// A fetch that compares the first elements, or sorts by them, searches the index instead of reading the whole table.
/// SQLite stores leave out elements over expressions, R-Tree elements, and an index over a single relationship, whose
/// column has an index anyway.
///
/// ```text
/// book.indexes = [byAuthorAndTitle]     CREATE INDEX Z_Book_byAuthorAndTitle ON ZBOOK (ZAUTHOR …, ZTITLE …)
/// author == %@ AND title == %@          served        author == %@ ORDER BY title      served
/// title == %@                           not served: the first element is missing
/// title ==[c] %@                        not served: the column is wrapped in a function
/// ```
///
/// `NSManagedObjectContext.explain` and `EXPLAIN QUERY PLAN` show whether an index is used.
///
/// Source: Apple's documentation of `NSFetchIndexDescription`.
///
/// `@unchecked Sendable`: only the code that builds a model changes it. Once a coordinator uses the model it is
/// immutable, and every setter traps.
open class NSFetchIndexDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The index's name: unique in its entity. SQLite stores call the index `Z_ENTITY_NAME`.
  open var name: String { willSet { checkEditable() } }

  /// The indexed properties, the most significant first.
  ///
  /// Put properties that fetches compare with `==` first, then the one that they sort by or compare with `<`. An
  /// element belongs to one index.
  open var elements: [NSFetchIndexElementDescription] {
    willSet { checkEditable() }
    didSet { adoptElements() }
  }

  /// Restricts the index to the objects that match; nil for all. A SQLite store applies only comparisons of
  /// attributes with nil, alone or joined by AND. It ignores other conditions: the index then has more rows.
  ///
  /// A partial index is smaller and cheaper to keep; it serves only fetches whose predicate implies its own, such as
  /// `deletedAt == nil AND …` for `deletedAt == nil`.
  ///
  /// Source: https://www.sqlite.org/partialindex.html
  open var partialIndexPredicate: NSPredicate? { willSet { checkEditable() } }

  private var ownerAnchor: EntityAnchor?
  final var owner: NSEntityDescription? {
    get { ownerAnchor?.entity }
    set { ownerAnchor = newValue?.anchor }
  }

  /// An index of a name over elements; nil elements mean none. It has no effect until it is among an entity's
  /// `indexes`.
  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.name = name
    self.elements = elements ?? []
    super.init()
    adoptElements()
  }

  /// An index from an archive that `encode(with:)` made. It belongs to no entity.
  public required init?(coder: NSCoder) {
    guard let root = ModelCoding.root(coder), root.className == "NSFetchIndexDescription" else { return nil }
    let decoded = ArchivedModel().index(root)
    name = decoded.name
    elements = decoded.elements
    partialIndexPredicate = decoded.partialIndexPredicate
    super.init()
    adoptElements()
  }

  /// The entity whose objects are indexed; nil until the index is among an entity's `indexes`.
  ///
  /// An index of a superentity covers the rows of subentities too, since they share its table.
  open var entity: NSEntityDescription? { owner }

  /// A copy that belongs to no entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  func copyOfSelf() -> NSFetchIndexDescription {
    let copy = NSFetchIndexDescription(name: name, elements: elements.map { $0.copyOfSelf() })
    copy.partialIndexPredicate = partialIndexPredicate
    return copy
  }

  /// By value: name, elements and predicate.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSFetchIndexDescription else { return false }
    return self === other
      || name == other.name && elements == other.elements
        && partialIndexPredicate == other.partialIndexPredicate
  }

  open override var hash: Int { name.hashValue }

  private func adoptElements() {
    for element in elements {
      element.indexDescription = self
    }
  }

  fileprivate func checkEditable() {
    guard owner?.isEditable ?? true else {
      fatalError(
        """
        The fetch index \(name) of \(owner?.name ?? "") cannot be changed once a coordinator uses its model; change a \
        copy of the model.
        """)
    }
  }
}

/// The structure of a fetch index. Raw values are Apple's.
///
/// Use `.binary`, unless a model is shared with a program on a Mac.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// A tree in the order of the values.
  case binary = 0
  /// A tree of ranges in several dimensions. SQLite stores of this framework leave such elements out.
  case rTree = 1
}

/// One element of a fetch index: a property and its sort direction.
///
/// ```swift
/// let pages = NSAttributeDescription()
/// pages.name = "pages"
/// pages.type = .integer64
/// let element = NSFetchIndexElementDescription(property: pages, collationType: .binary)
/// element.isAscending = false
/// let index = NSFetchIndexDescription(name: "byLength", elements: [element])
/// ```
///
/// SQLite can read an index in either direction, so `isAscending` matters only where one fetch sorts by several
/// properties in different directions.
///
/// Source: Apple's documentation of `NSFetchIndexElementDescription`.
///
/// `@unchecked Sendable`: as `NSFetchIndexDescription`, whose rule it follows.
open class NSFetchIndexElementDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The structure of the index over this element.
  open var collationType: NSFetchIndexElementType { willSet { indexDescription?.checkEditable() } }

  /// Whether the index holds the values in ascending order. Default: true.
  ///
  /// In SQL: `ZPAGES COLLATE BINARY DESC` for false.
  open var isAscending = true { willSet { indexDescription?.checkEditable() } }

  /// The index that has this element; nil until it is set. Held weakly.
  open internal(set) weak var indexDescription: NSFetchIndexDescription?

  private let givenProperty: NSPropertyDescription?
  private let givenName: String

  /// An element for a property. Once the index belongs to an entity, the entity's property of the same name takes its
  /// place.
  ///
  /// - Parameters:
  ///   - property: an attribute or a to-one relationship. An `NSExpressionDescription` is kept in the model, and SQLite
  ///     stores make no index of it.
  ///   - collationType: `.binary`, or `.rTree`, which SQLite stores leave out.
  public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
    self.givenProperty = property
    self.givenName = property.name
    self.collationType = collationType
    super.init()
  }

  /// An element for a property that is known by name only, as in a model file.
  init(propertyName: String, collationType: NSFetchIndexElementType) {
    self.givenProperty = nil
    self.givenName = propertyName
    self.collationType = collationType
    super.init()
  }

  /// The indexed property: that of the index's entity with the element's name, once the index belongs to one; else the
  /// one that the element was made with.
  ///
  /// Nil for a name that the entity does not have.
  open var property: NSPropertyDescription? {
    givenProperty is NSExpressionDescription
      ? givenProperty : indexDescription?.owner?.propertiesByName[givenName] ?? givenProperty
  }

  /// The name of the indexed property; for an element of a model file it is known before the property is.
  open var propertyName: String? { givenName }

  /// A copy that belongs to no index.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  func copyOfSelf() -> NSFetchIndexElementDescription {
    let copy =
      if let givenProperty, givenProperty is NSExpressionDescription {
        NSFetchIndexElementDescription(property: givenProperty.copyOfSelf(), collationType: collationType)
      } else {
        NSFetchIndexElementDescription(propertyName: givenName, collationType: collationType)
      }
    copy.isAscending = isAscending
    return copy
  }

  /// By value; the property counts by its name.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSFetchIndexElementDescription else { return false }
    return givenName == other.givenName && collationType == other.collationType && isAscending == other.isAscending
      && (givenProperty as? NSExpressionDescription) == (other.givenProperty as? NSExpressionDescription)
  }

  open override var hash: Int { givenName.hashValue }
}
