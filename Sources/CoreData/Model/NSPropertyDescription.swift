/// The settings that attributes, relationships, fetched properties and expression columns have in common. A model uses
/// its subclasses.
///
/// ```text
/// NSPropertyDescription
///   NSAttributeDescription              a value in a column
///     NSDerivedAttributeDescription     a value that the store computes
///     NSCompositeAttributeDescription   several values under one name
///   NSRelationshipDescription           other objects
///   NSFetchedPropertyDescription        the result of a fetch
///   NSExpressionDescription             a column of a dictionary result
/// ```
///
/// Source: Apple's documentation of `NSPropertyDescription`.
///
/// `@unchecked Sendable`: only the code that builds a model changes it. Once a coordinator uses the model it is
/// immutable, and every setter traps.
open class NSPropertyDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The property's name: unique in its entity and the entities above, of letters, digits and underscores. Stores know
  /// the property by it, so a new name needs a migration: see `renamingIdentifier`. Names of members of
  /// `NSManagedObject` cannot be used.
  ///
  /// It begins with a lower-case letter by convention: Swift properties have the same name. In a predicate's format a
  /// name such as "in" is written `#in`. Default: "", with which a model cannot be used.
  open var name: String = "" { willSet { checkEditable() } }

  /// Whether a save accepts the property without a value; otherwise it throws 1570. Default: true. An empty text is a
  /// value.
  ///
  /// ```swift
  /// let title = NSAttributeDescription()
  /// title.name = "title"
  /// title.type = .string
  /// title.isOptional = false
  /// title.defaultValue = "Untitled"
  /// ```
  ///
  /// An optional to-many relationship may be empty although `minCount` is above 0. A new object cannot be saved before
  /// its mandatory attributes have values; a scalar property such as `Int64` reads a missing value as 0. Part of the
  /// version hash: an optional attribute that becomes mandatory needs a default value for lightweight migration.
  open var isOptional = true { willSet { checkEditable() } }

  /// Whether the store leaves the property out, so that it lives in memory only. Default: false. Its value is lost when
  /// the object becomes a fault; fetches from SQL stores cannot name it. A change of it marks the object as updated.
  ///
  /// ```swift
  /// let words = NSAttributeDescription()
  /// words.name = "words"
  /// words.type = .integer64
  /// words.isTransient = true
  /// ```
  ///
  /// Use it to keep a value that is expensive to compute from others. A value that is cheap to compute needs no
  /// attribute, only a computed property of the class. Fetches from stores in memory can name one.
  open var isTransient = false { willSet { checkEditable() } }

  /// Notes of the developer; the framework does not read them. Default: empty.
  ///
  /// Xcode's editor has a table for it, whose values are texts. It is kept in compiled models and may be changed while
  /// the model is in use, on any thread.
  open var userInfo: [AnyHashable: Any]? {
    get { infoOfUser.values }
    set { infoOfUser.values = newValue }
  }
  private let infoOfUser = UserInfo()

  /// Whether the store indexes the property, the form that models had before fetch indexes. Default: false.
  ///
  /// Stores make an index for it as for a fetch index over this property alone. New models use
  /// `NSEntityDescription.indexes`.
  open var isIndexed = false { willSet { checkEditable() } }

  /// Kept with the model, without effect: there is no Spotlight on Linux. Default: false.
  open var isIndexedBySpotlight = false { willSet { checkEditable() } }

  /// Kept with the model, without effect, as on Apple's platforms. Default: false.
  open var isStoredInExternalRecord = false { willSet { checkEditable() } }

  /// Text that gives two otherwise equal versions of the property different hashes. Default: nil.
  ///
  /// See `NSEntityDescription.versionHashModifier`.
  open var versionHashModifier: String? { willSet { checkEditable() } }

  /// The property's name in an earlier version of the model, for lightweight migration. Default: `name`. Without it a
  /// renamed property is a new one, and the values of the former one are lost.
  ///
  /// ```swift
  /// if let new = model.copy() as? NSManagedObjectModel,
  ///   let title = new.entitiesByName["Book"]?.attributesByName["title"]
  /// {
  ///   title.name = "heading"
  ///   title.renamingIdentifier = "title"  // so that its values stay
  /// }
  /// ```
  ///
  /// It is no part of the version hash. Remove it only when no store has the earlier version any more.
  open var renamingIdentifier: String? {
    get { storedRenamingIdentifier ?? name }
    set {
      checkEditable()
      storedRenamingIdentifier = newValue
    }
  }

  /// The predicates that a save requires a value to match, evaluated with the value as `SELF`. A nil value is not
  /// tested.
  ///
  /// Default: none. A form can show them to its user as hints.
  open private(set) var validationPredicates: [NSPredicate] = []

  /// What a save throws for each of `validationPredicates`: an error code as `NSNumber`, or a `String` as the
  /// description of an error 1550.
  ///
  /// Default: none.
  open private(set) var validationWarnings: [Any] = []

  private var ownerAnchor: EntityAnchor?
  /// The entity that declares the property; nil for none. The elements of a composite attribute have the same.
  package final var owner: NSEntityDescription? {
    get { ownerAnchor?.entity }
    set {
      ownerAnchor = newValue?.anchor
      for element in (self as? NSCompositeAttributeDescription)?.elements ?? [] { element.owner = newValue }
    }
  }
  var storedRenamingIdentifier: String?

  /// A property without a name. It has no effect until it is among an entity's `properties`.
  public override init() {
    super.init()
  }

  /// A property from an archive that `encode(with:)` made. It belongs to no entity.
  public required init?(coder: NSCoder) {
    super.init()
    guard decode(coder) else { return nil }
  }

  /// The entity that declares the property. Traps if there is none or it was freed.
  ///
  /// For an inherited property it is the superentity. It does not trap for a property of an object's entity.
  open var entity: NSEntityDescription {
    guard let owner else { fatalError("The property \(name) belongs to no entity, or its entity is gone.") }
    return owner
  }

  /// Sets `validationPredicates`, and in the same order `validationWarnings`. Nil means none.
  ///
  /// ```swift
  /// let pages = NSAttributeDescription()
  /// pages.name = "pages"
  /// pages.type = .integer64
  /// pages.setValidationPredicates(
  ///   [NSPredicate(format: "SELF >= 0")], withValidationWarnings: [NSValidationNumberTooSmallError])
  /// ```
  ///
  /// A predicate without a warning fails the save with 1550. Xcode's minima, maxima and patterns become such
  /// predicates.
  ///
  /// - Parameters:
  ///   - validationPredicates: the rules, each with the value as `SELF`. They are no part of the version hash: existing
  ///     rows are tested when they are saved next.
  ///   - validationWarnings: for each rule an error code as a number, or a text as the description of an error 1550.
  open func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [Any]?
  ) {
    checkEditable()
    self.validationPredicates = validationPredicates ?? []
    self.validationWarnings = validationWarnings ?? []
  }

  /// A copy that belongs to no entity.
  ///
  /// A relationship's copy finds its destination and its inverse by name in the model that it comes into.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  /// A new description of the same class, for copying.
  ///
  /// Each subclass returns its own class.
  func makeEmpty() -> NSPropertyDescription {
    NSPropertyDescription()
  }

  func copyOfSelf() -> NSPropertyDescription {
    let copy = makeEmpty()
    copyValues(into: copy)
    return copy
  }

  /// Copies all settings but the entity. Subclasses copy their own as well.
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

  /// Whether another description of the same class has equal settings. Subclasses compare their own as well.
  func hasSameValues(as other: NSPropertyDescription) -> Bool {
    name == other.name && owner?.name == other.owner?.name && isOptional == other.isOptional
      && isTransient == other.isTransient && isIndexed == other.isIndexed
      && isIndexedBySpotlight == other.isIndexedBySpotlight
      && isStoredInExternalRecord == other.isStoredInExternalRecord && versionHashModifier == other.versionHashModifier
      && renamingIdentifier == other.renamingIdentifier && SameValues.of(userInfo, other.userInfo)
      && SameValues.of(validationPredicates, other.validationPredicates)
      && SameValues.of(validationWarnings, other.validationWarnings)
  }

  /// By value: properties of two models are equal if all their settings are and their entities have the same name.
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
  /// A property without an entity may always be changed.
  func checkEditable() {
    guard owner?.isEditable ?? true else {
      fatalError(
        """
        The property \(owner?.name ?? "").\(name) cannot be changed once a coordinator uses its model; change a copy \
        of the model.
        """)
    }
  }
}
