/// An index that the store keeps for quicker fetches.
///
/// Source: Apple's documentation of `NSFetchIndexDescription`.
// `@unchecked Sendable`: mutable while a model is being built, which is its builder's business alone; immutable once a
// coordinator uses the model, and every setter traps from then on.
open class NSFetchIndexDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The index's name: unique in its entity.
  open var name: String { willSet { checkEditable() } }

  /// What is indexed, the first element being the most significant.
  open var elements: [NSFetchIndexElementDescription] {
    willSet { checkEditable() }
    didSet { adoptElements() }
  }

  /// Restricts the index to the objects that match.
  open var partialIndexPredicate: NSPredicate? { willSet { checkEditable() } }

  private var ownerAnchor: EntityAnchor?
  final var owner: NSEntityDescription? {
    get { ownerAnchor?.entity }
    set { ownerAnchor = newValue?.anchor }
  }

  public init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.name = name
    self.elements = elements ?? []
    super.init()
    adoptElements()
  }

  /// The entity whose objects are indexed.
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

  /// By value.
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

/// How a fetch index is organised. The raw values are Apple's.
public enum NSFetchIndexElementType: UInt, Sendable {
  /// In the order of the values.
  case binary = 0
  /// By ranges in several dimensions.
  case rTree = 1
}

/// One element of a fetch index: a property, and the direction in which it is sorted.
///
/// Source: Apple's documentation of `NSFetchIndexElementDescription`.
// `@unchecked Sendable`: as `NSFetchIndexDescription`, whose rule it follows.
open class NSFetchIndexElementDescription: NSObject, NSCopying, @unchecked Sendable {
  /// How the element is organised.
  open var collationType: NSFetchIndexElementType { willSet { indexDescription?.checkEditable() } }

  /// Whether the values ascend. Default: true.
  open var isAscending = true { willSet { indexDescription?.checkEditable() } }

  /// The index that the element is part of.
  open internal(set) weak var indexDescription: NSFetchIndexDescription?

  private let givenProperty: NSPropertyDescription?
  private let givenName: String

  /// An element for a property. The property is looked up by name in the index's entity once that is known.
  public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
    self.givenProperty = property
    self.givenName = property.name
    self.collationType = collationType
    super.init()
  }

  /// An element for a property of which only the name is known yet, as in a model file.
  init(propertyName: String, collationType: NSFetchIndexElementType) {
    self.givenProperty = nil
    self.givenName = propertyName
    self.collationType = collationType
    super.init()
  }

  /// The indexed property.
  open var property: NSPropertyDescription? {
    givenProperty is NSExpressionDescription
      ? givenProperty : indexDescription?.owner?.propertiesByName[givenName] ?? givenProperty
  }

  /// The name of the indexed property.
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
