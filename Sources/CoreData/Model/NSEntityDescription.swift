internal import Synchronization

/// One entity of a model: a name, a class for its objects, and properties.
///
/// `properties` and the dictionaries made from it include the properties of the superentities. An inherited property is
/// the superentity's own description, so its `entity` is the entity that declares it. All entities of a hierarchy share
/// one table of a SQL store, so a fetch of the superentity reads one table, and a column of one entity is NULL in the
/// rows of the others.
///
/// An entity does not keep its model alive: keep the model as long as you use its entities. It may be changed until a
/// coordinator uses the model; then any thread may read it.
///
/// ```swift
/// for entity in model.entities {
///   print(entity.name ?? "", entity.superentity?.name ?? "-")
///   for name in entity.attributesByName.keys.sorted() { print(" ", name) }
/// }
/// ```
///
/// Code that handles objects of any entity finds their properties here: `object.entity.attributesByName`. To write a
/// model in code, use `NSEntityDescription(_:…)` in `NSManagedObjectModel.init(file:line:_:)`.
///
/// Source: Apple's documentation of `NSEntityDescription`; the tables as Apple's files show them.
///
/// `@unchecked Sendable`: only the code that builds a model changes it. Once a coordinator uses the model it is
/// immutable, and every setter traps.
open class NSEntityDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The entity's name: unique in its model, of letters, digits and underscores. Stores know the entity by it, so a new
  /// name needs a migration: see `renamingIdentifier`. Default: nil.
  open var name: String? { willSet { checkEditable() } }

  /// The name of the class of the entity's objects, with or without its module: "Person", "Contacts.Person". Default:
  /// "NSManagedObject". A class that is not found is replaced by `NSManagedObject`, with a sentence on standard error.
  /// It has no effect on the store.
  ///
  /// `NSStringFromClass(_:)` gives the name of a class. If two entities share a class, the class's `entity()` is
  /// ambiguous: create such objects with `init(entity:insertInto:)`.
  open var managedObjectClassName: String! {
    get { className }
    set {
      checkEditable()
      className = newValue ?? "NSManagedObject"
    }
  }

  /// Whether only subentities can have objects. Default: false. Inserting an object of an abstract entity traps.
  ///
  /// ```swift
  /// let medium = NSEntityDescription()
  /// medium.name = "Medium"
  /// medium.isAbstract = true
  /// ```
  ///
  /// A fetch of it finds the objects of its subentities. It is part of the version hash.
  open var isAbstract = false { willSet { checkEditable() } }

  /// Notes of the developer; the framework does not read them. Default: empty.
  ///
  /// It may be changed while the model is in use, on any thread. It is no part of the version hash.
  open var userInfo: [AnyHashable: Any]? {
    get { infoOfUser.values }
    set { infoOfUser.values = newValue }
  }
  private let infoOfUser = UserInfo()

  /// Indexes that the store keeps for faster fetches, without those of superentities. Default: none.
  ///
  /// ```swift
  /// if let model = model.copy() as? NSManagedObjectModel, let book = model.entitiesByName["Book"] {
  ///   let element = NSFetchIndexElementDescription(property: book.attributesByName["title"]!, collationType: .binary)
  ///   book.indexes = [NSFetchIndexDescription(name: "byTitle", elements: [element])]
  /// }
  /// ```
  ///
  /// Each index costs space, and time when a row is saved. Indexes are no part of the version hash: an existing store
  /// gets a new index with its next migration.
  open var indexes: [NSFetchIndexDescription] = [] {
    willSet { checkEditable() }
    didSet {
      for index in indexes {
        index.owner = self
      }
    }
  }

  /// Groups of attributes whose values together are unique among the entity's objects: names, key paths of composite
  /// elements, or `NSAttributeDescription`s. Default: none.
  ///
  /// ```swift
  /// if let model = model.copy() as? NSManagedObjectModel {
  ///   model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
  /// }
  /// ```
  ///
  /// A save that violates a constraint is a conflict for the merge policy; the default policy throws 133021. The store
  /// keeps a unique index for each constraint, over the whole table: a constraint over inherited attributes also holds
  /// between objects of this entity and those of superentities and siblings. An object in which one of the values is
  /// nil conflicts with no other.
  ///
  /// Source: https://www.sqlite.org/lang_createindex.html on NULL in unique indexes.
  open var uniquenessConstraints: [[Any]] = [] { willSet { checkEditable() } }

  /// Indexes over several properties, each a group of names or descriptions, in the form that models had before fetch
  /// indexes. Default: none.
  ///
  /// Use `indexes` in new models: they have directions and conditions.
  open var compoundIndexes: [[Any]] = [] { willSet { checkEditable() } }

  /// Text that gives two otherwise equal versions of the entity different hashes. Default: nil.
  ///
  /// Set it when the meaning of stored values changes and the model does not, such as prices in cents instead of euros.
  /// Stores of the other version then need a migration, in which a policy or a stage converts the values.
  open var versionHashModifier: String? { willSet { checkEditable() } }

  /// The entity's name in an earlier version of the model, for lightweight migration. Default: `name`. Without it a
  /// renamed entity is a new one, and the rows of the former one are deleted.
  ///
  /// ```swift
  /// if let new = model.copy() as? NSManagedObjectModel, let book = new.entitiesByName["Book"] {
  ///   book.name = "Volume"
  ///   book.renamingIdentifier = "Book"  // so that its rows stay
  /// }
  /// ```
  open var renamingIdentifier: String? {
    get { storedRenamingIdentifier ?? name }
    set {
      checkEditable()
      storedRenamingIdentifier = newValue
    }
  }

  /// The module that the model was compiled into. A class name without a module is looked up there first.
  package var productModuleName: String?

  /// The properties that this entity declares itself.
  ///
  /// Subentities look inherited properties up and keep no copies, so a change of a property changes all of them.
  package private(set) var declaredProperties: [NSPropertyDescription] = []
  private var declaredSubentities: [NSEntityDescription] = []
  private var className = "NSManagedObject"
  /// The identifier that was set; nil if `name` takes its place. A copy keeps the nil, so that it follows a later name.
  var storedRenamingIdentifier: String?
  /// The superentity. It is held without a reference count: the model holds all entities, see `EntityAnchor`.
  fileprivate(set) final var parent: NSEntityDescription? {
    get { parentAnchor?.entity }
    set { parentAnchor = newValue?.anchor }
  }
  private var parentAnchor: EntityAnchor?
  /// What properties, indexes and other entities hold instead of this entity.
  let anchor = EntityAnchor()
  /// The model that has the entity among its `entities`.
  weak var model: NSManagedObjectModel?
  /// Set once, when a coordinator begins to use the model; then the entity is immutable.
  private let lookup = AtomicLazyReference<EntityLookup>()
  /// How objects of the entity keep their values; made when the first object is.
  let layoutCache = EntityLayoutCache()

  /// An entity without a name and properties. It has no effect until it is among a model's `entities`.
  public override init() {
    super.init()
    anchor.entity = self
  }

  /// An entity from an archive that `encode(with:)` made. It belongs to no model.
  public required init?(coder: NSCoder) {
    super.init()
    anchor.entity = self
    guard decode(coder) else { return nil }
  }

  deinit { anchor.entity = nil }

  /// The model that the entity belongs to. Traps if there is none or it was freed.
  ///
  /// It does not trap for the entity of an object in a context: the context's coordinator keeps the model alive.
  open var managedObjectModel: NSManagedObjectModel {
    guard let model else {
      fatalError("The entity \(name ?? "without a name") belongs to no model, or its model is gone.")
    }
    return model
  }

  // MARK: Hierarchy

  /// The entities that inherit directly from this one. Setting them makes this entity their superentity.
  ///
  /// ```swift
  /// let book = NSEntityDescription()
  /// book.name = "Book"
  /// let audiobook = NSEntityDescription()
  /// audiobook.name = "Audiobook"
  /// book.subentities = [audiobook]
  /// ```
  ///
  /// An entity has one superentity. The subentities have to be among the model's `entities` as well. All of a hierarchy
  /// share one table, so a deep hierarchy makes wide rows. The hierarchy is part of the version hash.
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

  /// The entities that inherit directly from this one, by name; those without a name are left out.
  ///
  /// Made anew at each access.
  open var subentitiesByName: [String: NSEntityDescription] {
    Dictionary(
      declaredSubentities.compactMap { entity in entity.name.map { ($0, entity) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// The entity that this one inherits from; nil for none. It is set through the other's `subentities`.
  ///
  /// ```swift
  /// let line = sequence(first: book.entity, next: \.superentity).compactMap(\.name)
  /// print(line.joined(separator: " < "))  // the entity, then what it inherits from
  /// ```
  open var superentity: NSEntityDescription? { parent }

  /// Whether this is the given entity or inherits from it, at any depth.
  ///
  /// ```swift
  /// let isBook = model.entitiesByName["Book"].map { book.entity.isKindOf(entity: $0) } ?? false
  /// ```
  ///
  /// Entities are compared by identity, so those of a copy of the model do not count. It takes constant time once the
  /// model is in use.
  open func isKindOf(entity: NSEntityDescription) -> Bool {
    if self === entity { return true }
    if let lookup = lookup.load() { return lookup.ancestors.contains(ObjectIdentifier(entity)) }
    return sequence(first: self, next: \.parent).contains { $0 === entity }
  }

  // MARK: Properties

  /// All properties: the inherited ones first, then the entity's own in the order in which they were set.
  ///
  /// Setting them makes this entity their owner; inherited properties among the new value stay inherited.
  ///
  /// ```swift
  /// let title = NSAttributeDescription()
  /// title.name = "title"
  /// title.type = .string
  /// let book = NSEntityDescription()
  /// book.name = "Book"
  /// book.properties = [title]
  /// book.properties.append(NSAttributeDescription("pages", .integer64))
  /// ```
  ///
  /// A property belongs to one entity: give copies of it to a second one. A property of a superentity's name replaces
  /// the inherited one here. Before a coordinator uses the model each access makes the list anew.
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
  ///
  /// Kept once the model is in use; made anew at each access before, like the following two.
  open var propertiesByName: [String: NSPropertyDescription] { currentLookup.propertiesByName }

  /// The attributes by name, inherited ones included.
  ///
  /// ```swift
  /// for (name, attribute) in book.entity.attributesByName where attribute.type == .string {
  ///   print(name, book.value(forKey: name) ?? "")
  /// }
  /// ```
  ///
  /// Derived and composite attributes are among them, transient ones too.
  open var attributesByName: [String: NSAttributeDescription] { currentLookup.attributesByName }

  /// The relationships by name, inherited ones included.
  ///
  /// Fetched properties are not among them.
  open var relationshipsByName: [String: NSRelationshipDescription] { currentLookup.relationshipsByName }

  /// The relationships whose destination is the given entity, inherited ones included; not those to its superentities.
  ///
  /// - Parameter entity: an entity of the same model.
  open func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
    properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
  }

  /// A copy that belongs to no model. Its relationships lead to the original destination entities until it comes into a
  /// model that has entities of these names.
  ///
  /// Its properties and indexes are copies too, its user info is shared. It has no superentity and no subentities: to
  /// copy a hierarchy copy the model.
  open func copy(with zone: NSZone? = nil) -> Any {
    copyOfSelf()
  }

  /// By value: entities of two models are equal if all their settings and properties are. Other entities count by their
  /// names.
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

  /// The version hash of a frozen entity, kept because each opening of a store asks for it.
  var keptVersionHash: Data? {
    get { lookup.load()?.versionHash.load()?.data }
    set {
      guard let newValue else { return }
      _ = lookup.load()?.versionHash.storeIfNil(VersionHash(newValue))
    }
  }

  /// The lookup tables: kept once the model is frozen, built for each call before.
  private var currentLookup: EntityLookup { lookup.load() ?? EntityLookup(self) }

  /// Called for each entity when its model is frozen; further calls do nothing.
  func freeze() {
    guard isEditable else { return }
    _ = lookup.storeIfNil(EntityLookup(self))
  }

  /// Every setter calls it before it changes something. A change of an entity in use would not reach the layouts of its
  /// objects, nor the store's tables.
  func checkEditable() {
    guard isEditable else {
      fatalError(
        """
        The entity \(name ?? "without a name") cannot be changed once a coordinator uses its model; change a copy of \
        the model.
        """)
    }
  }

  /// The property names of a uniqueness constraint or a compound index, which may hold descriptions instead.
  ///
  /// Elements of other types are left out. A check of the model finds names that do not exist.
  package func names(of constraint: [Any]) -> [String] {
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
  ///
  /// Apple's entities conform to `NSFastEnumeration` in the same way.
  public func makeIterator() -> IndexingIterator<[NSPropertyDescription]> {
    properties.makeIterator()
  }
}

/// The lookup tables of a frozen entity.
///
/// Objects ask for properties by name at each access by name, so the dictionaries are made once. A property of an
/// entity takes the place of an inherited one of the same name, at the inherited one's position.
private final class EntityLookup: Sendable {
  let properties: [NSPropertyDescription]
  let propertiesByName: [String: NSPropertyDescription]
  let attributesByName: [String: NSAttributeDescription]
  let relationshipsByName: [String: NSRelationshipDescription]
  let ancestors: Set<ObjectIdentifier>
  let versionHash = AtomicLazyReference<VersionHash>()

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

/// A version hash, as an object that can be stored atomically.
private final class VersionHash: Sendable {
  let data: Data

  init(_ data: Data) { self.data = data }
}

/// A reference to an entity that does not keep it alive: nil once the entity is gone.
///
/// It replaces `weak`, which moves the entity's reference count out of the entity; each new object changes that count.
///
/// The unowned reference is safe because all code that reads it holds the model, and the model holds the entity.
///
/// `@unchecked Sendable`: the entity's `init` sets it, and its `deinit` clears it when the model is not used any more.
final class EntityAnchor: @unchecked Sendable {
  unowned(unsafe) fileprivate(set) var entity: NSEntityDescription?
}
