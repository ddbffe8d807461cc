internal import Synchronization

/// One entity of a model: its name, its class and its properties.
///
/// `properties` and the dictionaries made from it include what is inherited from the superentities. An inherited property
/// is the very description that the superentity has, so that its `entity` is the entity that declares it.
///
/// Source: Apple's documentation of `NSEntityDescription`.
// `@unchecked Sendable`: mutable while a model is being built, which is its builder's business alone; immutable once a
// coordinator uses the model, and every setter traps from then on.
open class NSEntityDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The entity's name: unique in its model.
  open var name: String? { willSet { checkEditable() } }

  /// The name of the class of the entity's objects. Default: "NSManagedObject".
  open var managedObjectClassName: String! {
    get { className }
    set {
      checkEditable()
      className = newValue ?? "NSManagedObject"
    }
  }

  /// Whether objects are made of the subentities only. Default: false.
  open var isAbstract = false { willSet { checkEditable() } }

  /// What the developer notes beside the entity. Default: empty.
  open var userInfo: [AnyHashable: Any]? = [:] { willSet { checkEditable() } }

  /// Indexes that the store keeps for quicker fetches; not those of superentities.
  open var indexes: [NSFetchIndexDescription] = [] {
    willSet { checkEditable() }
    didSet {
      for index in indexes {
        index.owner = self
      }
    }
  }

  /// Properties whose values taken together no two objects share: attribute names or `NSAttributeDescription`s.
  open var uniquenessConstraints: [[Any]] = [] { willSet { checkEditable() } }

  /// Indexes over several properties, as models before fetch indexes declare them.
  open var compoundIndexes: [[Any]] = [] { willSet { checkEditable() } }

  /// Text that makes two otherwise equal versions of the entity differ in their hash.
  open var versionHashModifier: String? { willSet { checkEditable() } }

  /// The entity's name in an earlier model version, for migration. Default: the name.
  open var renamingIdentifier: String? {
    get { storedRenamingIdentifier ?? name }
    set {
      checkEditable()
      storedRenamingIdentifier = newValue
    }
  }

  /// The module that the model was compiled into, where a class without a module in its name is looked for first.
  package var productModuleName: String?

  /// The fetched properties, relationships and attributes declared by this entity itself.
  private(set) var declaredProperties: [NSPropertyDescription] = []
  private var declaredSubentities: [NSEntityDescription] = []
  private var className = "NSManagedObject"
  var storedRenamingIdentifier: String?
  fileprivate(set) final var parent: NSEntityDescription? {
    get { parentAnchor?.entity }
    set { parentAnchor = newValue?.anchor }
  }
  private var parentAnchor: EntityAnchor?
  let anchor = EntityAnchor()
  weak var model: NSManagedObjectModel?
  private let lookup = AtomicLazyReference<EntityLookup>()
  let layoutCache = EntityLayoutCache()

  public override init() {
    super.init()
    anchor.entity = self
  }

  deinit { anchor.entity = nil }

  /// The model that the entity belongs to.
  open var managedObjectModel: NSManagedObjectModel {
    guard let model else {
      fatalError("The entity \(name ?? "without a name") belongs to no model, or its model is gone.")
    }
    return model
  }

  // MARK: Hierarchy

  /// The entities that inherit from this one directly. Setting them makes this their superentity.
  open var subentities: [NSEntityDescription] {
    get { declaredSubentities }
    set {
      checkEditable()
      for entity in declaredSubentities where entity.parent === self {
        entity.parent = nil
      }
      declaredSubentities = newValue
      for entity in newValue {
        entity.parent = self
      }
    }
  }

  /// The direct subentities by name.
  open var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(
      declaredSubentities.compactMap { entity in entity.name.map { ($0, entity) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// The entity that this one inherits from.
  open var superentity: NSEntityDescription? { parent }

  /// Whether this is the given entity or inherits from it, at any depth.
  open func isKindOf(entity: NSEntityDescription) -> Bool {
    if self === entity { return true }
    if let lookup = lookup.load() { return lookup.ancestors.contains(ObjectIdentifier(entity)) }
    return sequence(first: self, next: \.parent).contains { $0 === entity }
  }

  // MARK: Properties

  /// All properties: the inherited ones first, then the entity's own in the order in which they were set.
  ///
  /// Setting them makes this their entity; inherited properties among the new value stay inherited.
  open var properties: [NSPropertyDescription] {
    get { currentLookup.properties }
    set {
      checkEditable()
      for property in declaredProperties where property.owner === self {
        property.owner = nil
      }
      let inherited = Set((parent?.properties ?? []).map(ObjectIdentifier.init))
      declaredProperties = newValue.filter { !inherited.contains(ObjectIdentifier($0)) }
      for property in declaredProperties {
        property.owner = self
      }
    }
  }

  /// The properties by name, inherited ones included.
  open var propertiesByName: [String: NSPropertyDescription] { currentLookup.propertiesByName }

  /// The attributes by name, inherited ones included.
  open var attributesByName: [String: NSAttributeDescription] { currentLookup.attributesByName }

  /// The relationships by name, inherited ones included.
  open var relationshipsByName: [String: NSRelationshipDescription] { currentLookup.relationshipsByName }

  /// The relationships that lead to the given entity.
  open func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
  }

  /// A copy that belongs to no model. Its relationships still lead to the original destination entities.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  /// By value: entities of two models are equal where they say the same. Other entities count by their names.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityDescription else { return false }
    return self === other || hasSameValues(as: other)
  }

  open override var hash: Int { name.hashValue }

  open override var description: String {
    "<NSEntityDescription: \(name ?? "(no name)"), \(properties.count) properties>"
  }
}

extension NSEntityDescription {
  /// False once a coordinator uses the entity's model.
  var isEditable: Bool { lookup.load() == nil }

  /// The lookup tables: kept once the model is frozen, made anew for each call before.
  private var currentLookup: EntityLookup { lookup.load() ?? EntityLookup(self) }

  func freeze() {
    guard isEditable else { return }
    _ = lookup.storeIfNil(EntityLookup(self))
  }

  func checkEditable() {
    guard isEditable else {
      fatalError(
        """
        The entity \(name ?? "without a name") cannot be changed once a coordinator uses its model; change a copy of the \
        model.
        """)
    }
  }

  /// The superentity without superentity above this one; the entity itself if it has none.
  var rootEntity: NSEntityDescription {
    var root = self
    while let parent = root.parent { root = parent }
    return root
  }

  /// The property names in a uniqueness constraint or a compound index, which may hold descriptions instead.
  func names(of constraint: [Any]) -> [String] {
    constraint.compactMap { element in
      switch element {
      case let name as String: name
      case let property as NSPropertyDescription: property.name
      default: nil
      }
    }
  }
}

extension NSEntityDescription: Sequence {
  /// Iterates over the properties.
  public func makeIterator() -> IndexingIterator<[NSPropertyDescription]> {
    properties.makeIterator()
  }
}

/// What a frozen entity answers from.
private final class EntityLookup: Sendable {
  let properties: [NSPropertyDescription]
  let propertiesByName: [String: NSPropertyDescription]
  let attributesByName: [String: NSAttributeDescription]
  let relationshipsByName: [String: NSRelationshipDescription]
  let ancestors: Set<ObjectIdentifier>

  init(_ entity: NSEntityDescription) {
    let line = Array(sequence(first: entity, next: \.parent))
    ancestors = Set(line.dropFirst().map(ObjectIdentifier.init))
    var ordered: [NSPropertyDescription] = []
    var positions: [String: Int] = [:]
    for property in line.reversed().flatMap(\.declaredProperties) {
      if let position = positions[property.name] {
        ordered[position] = property
      } else {
        positions[property.name] = ordered.count
        ordered.append(property)
      }
    }
    properties = ordered
    propertiesByName = positions.mapValues { [ordered] in ordered[$0] }
    attributesByName = propertiesByName.compactMapValues { $0 as? NSAttributeDescription }
    relationshipsByName = propertiesByName.compactMapValues { $0 as? NSRelationshipDescription }
  }
}

/// What refers to an entity without keeping it: nil once the entity is gone, as `weak` is.
///
/// But `weak` would move the entity's reference count out of the entity, and each object that is made counts it.
///
/// `@unchecked Sendable`: set by the entity's `init` and cleared by its `deinit`, when nobody uses the model any more.
final class EntityAnchor: @unchecked Sendable {
  unowned(unsafe) fileprivate(set) var entity: NSEntityDescription?
}
