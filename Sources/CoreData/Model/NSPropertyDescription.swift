/// One property of an entity: what attributes, relationships, fetched properties and expression columns have in common.
///
/// Source: Apple's documentation of `NSPropertyDescription`.
// `@unchecked Sendable`: mutable while a model is being built, which is its builder's business alone; immutable once a
// coordinator uses the model, and every setter traps from then on.
open class NSPropertyDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The property's name: unique in its entity.
  open var name: String = "" { willSet { checkEditable() } }

  /// Whether the property may be without a value when saved. Default: true.
  open var isOptional = true { willSet { checkEditable() } }

  /// Whether the property is left out of the store. Default: false.
  open var isTransient = false { willSet { checkEditable() } }

  /// What the developer notes beside the property. Default: empty.
  open var userInfo: [AnyHashable: Any]? = [:] { willSet { checkEditable() } }

  /// Whether the store indexes the property, as models before fetch indexes say. Default: false.
  open var isIndexed = false { willSet { checkEditable() } }

  /// Kept as the model says; nothing here indexes for Spotlight. Default: false.
  open var isIndexedBySpotlight = false { willSet { checkEditable() } }

  /// Kept as the model says; has no effect, on Apple's platforms neither. Default: false.
  open var isStoredInExternalRecord = false { willSet { checkEditable() } }

  /// Text that makes two otherwise equal versions of the property differ in their hash.
  open var versionHashModifier: String? { willSet { checkEditable() } }

  /// The property's name in an earlier model version, for migration. Default: the name.
  open var renamingIdentifier: String? {
    get { storedRenamingIdentifier ?? name }
    set {
      checkEditable()
      storedRenamingIdentifier = newValue
    }
  }

  /// What a value must fulfil to be saved.
  open private(set) var validationPredicates: [NSPredicate] = []

  /// The messages or error codes that belong to `validationPredicates`, one each.
  open private(set) var validationWarnings: [Any] = []

  private var ownerAnchor: EntityAnchor?
  final var owner: NSEntityDescription? {
    get { ownerAnchor?.entity }
    set {
      ownerAnchor = newValue?.anchor
      for element in (self as? NSCompositeAttributeDescription)?.elements ?? [] { element.owner = newValue }
    }
  }
  var storedRenamingIdentifier: String?

  public override init() {
    super.init()
  }

  /// The entity that declares the property.
  open var entity: NSEntityDescription {
    guard let owner else { fatalError("The property \(name) belongs to no entity, or its entity is gone.") }
    return owner
  }

  /// Sets the predicates that a value must fulfil, with a warning for each: a message, or an error code as `NSNumber`.
  open func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [Any]?
  ) {
    checkEditable()
    self.validationPredicates = validationPredicates ?? []
    self.validationWarnings = validationWarnings ?? []
  }

  /// A copy that belongs to no entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  /// An empty description of the same class, for a copy.
  func makeEmpty() -> NSPropertyDescription {
    NSPropertyDescription()
  }

  func copyOfSelf() -> NSPropertyDescription {
    let copy = makeEmpty()
    copyValues(into: copy)
    return copy
  }

  /// Copies everything but the tie to the entity. Subclasses add their own.
  func copyValues(into copy: NSPropertyDescription) {
    copy.name = name
    copy.isOptional = isOptional
    copy.isTransient = isTransient
    copy.userInfo = userInfo
    copy.isIndexed = isIndexed
    copy.isIndexedBySpotlight = isIndexedBySpotlight
    copy.isStoredInExternalRecord = isStoredInExternalRecord
    copy.versionHashModifier = versionHashModifier
    copy.storedRenamingIdentifier = storedRenamingIdentifier
    copy.setValidationPredicates(validationPredicates, withValidationWarnings: validationWarnings)
  }

  /// Whether the other, of the same class, says the same. Subclasses add their own.
  func hasSameValues(as other: NSPropertyDescription) -> Bool {
    name == other.name && owner?.name == other.owner?.name && isOptional == other.isOptional
      && isTransient == other.isTransient && isIndexed == other.isIndexed
      && isIndexedBySpotlight == other.isIndexedBySpotlight
      && isStoredInExternalRecord == other.isStoredInExternalRecord && versionHashModifier == other.versionHashModifier
      && renamingIdentifier == other.renamingIdentifier && SameValues.of(userInfo, other.userInfo)
      && SameValues.of(validationPredicates, other.validationPredicates)
      && SameValues.of(validationWarnings, other.validationWarnings)
  }

  /// By value: properties of two models are equal where they say the same, in entities of the same name.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPropertyDescription else { return false }
    return self === other || type(of: self) == type(of: other) && hasSameValues(as: other)
  }

  open override var hash: Int { name.hashValue }

  open override var description: String {
    "<\(type(of: self)): \(owner?.name ?? "(no entity)").\(name)>"
  }
}

extension NSPropertyDescription {
  func checkEditable() {
    guard owner?.isEditable ?? true else {
      fatalError(
        """
        The property \(owner?.name ?? "").\(name) cannot be changed once a coordinator uses its model; change a copy of \
        the model.
        """)
    }
  }
}
