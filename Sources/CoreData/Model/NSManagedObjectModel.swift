internal import Synchronization

/// The schema of an object graph: entities, and configurations that distribute them over stores.
///
/// ```swift
/// let title = NSAttributeDescription()
/// title.name = "title"
/// title.type = .string
/// let note = NSEntityDescription()
/// note.name = "Note"
/// note.properties = [title]
/// let model = NSManagedObjectModel()
/// model.entities = [note]
/// let container = NSPersistentContainer(name: "Notes", managedObjectModel: model)
/// ```
///
/// Mostly a model comes from a file: `init(contentsOf:)` reads what Xcode saves, and `ModelCompilerPlugin` makes
/// classes and a compiled file of it when the target is built. In code, `init(file:line:_:)` is shorter than the above.
///
/// A model may be changed until a coordinator uses it. From then on it is immutable, every setter traps, and any thread
/// may read it. A copy can be changed again. An entity does not keep its model alive, nor a property its entity: keep a
/// reference to the model.
///
/// Source: Apple's documentation of `NSManagedObjectModel`.
///
/// `@unchecked Sendable`: only the code that builds a model changes it. Once a coordinator uses it, it is immutable and
/// every setter traps.
open class NSManagedObjectModel: NSObject, NSCopying, @unchecked Sendable {
  /// The name of the configuration that holds all entities.
  static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  private var storedEntities: [NSEntityDescription] = []
  private var entityNamesByConfiguration: [String: [String]] = [:]
  var fetchRequestTemplates: [String: NSFetchRequest<any NSFetchRequestResult>] = [:]
  private let lookup = AtomicLazyReference<ModelLookup>()
  /// Held by the coordinator that freezes the model.
  private let freezing = NSLock()

  /// Names that the developer gave this version of the model; a store's metadata keeps them. Default: empty. The
  /// framework does not compare them: `versionChecksum` and the version hashes tell models apart.
  ///
  /// ```swift
  /// if let metadata = container.persistentStoreCoordinator.persistentStores.first?.metadata {
  ///   print(metadata[NSStoreModelVersionIdentifiersKey] ?? [])
  /// }
  /// ```
  ///
  /// Xcode's field "Identifier" of a model version sets one. Use them for messages to people.
  open var versionIdentifiers: Set<AnyHashable> = [] { willSet { checkEditable() } }

  /// Localised names of entities and properties, by Apple's keys ("Entity/Person"), for the program's own messages.
  ///
  /// The framework does not read it: validation errors have the names that stand in the model.
  open var localizationDictionary: [String: String]? { willSet { checkEditable() } }

  /// A model without entities.
  ///
  /// Set `entities` and pass it to a container; use `init(file:line:_:)` to write entities with their properties in one
  /// expression.
  public override init() {
    super.init()
    NSPersistentHistoryToken.register()
  }

  /// A model from an archive that `encode(with:)` made.
  ///
  /// Nil for data that another framework archived, and for a damaged archive.
  public required init?(coder: NSCoder) {
    super.init()
    NSPersistentHistoryToken.register()
    guard let archive = ModelCoding.data(coder), (try? ArchivedModel.read(archive, into: self)) != nil else {
      return nil
    }
  }

  // MARK: Entities

  /// All entities, in the order in which they were set. Setting them makes this model theirs: an entity belongs to one
  /// model, so take copies of another model's. Subentities and superentities have to be among them.
  ///
  /// ```swift
  /// let note = NSEntityDescription()
  /// note.name = "Note"
  /// let model = NSManagedObjectModel()
  /// model.entities = [note]
  /// ```
  ///
  /// Relationships whose ends are known by name find them now. An entity that is left out when they are set again
  /// belongs to no model any more. Traps once a coordinator uses the model: change a copy.
  open var entities: [NSEntityDescription] {
    get { storedEntities }
    set {
      checkEditable()
      for entity in storedEntities where entity.model === self {
        entity.model = nil
      }
      storedEntities = newValue
      for entity in newValue {
        entity.model = self
      }
    }
  }

  /// The entities by name; those without one are left out.
  ///
  /// ```swift
  /// if let book = model.entitiesByName["Book"] { print(book.attributesByName.keys.sorted()) }
  /// ```
  ///
  /// Before a coordinator uses the model each access makes the dictionary anew: keep it outside of a loop.
  open var entitiesByName: [String: NSEntityDescription] {
    lookup.load()?.entitiesByName ?? ModelLookup(self).entitiesByName
  }

  // MARK: Configurations

  /// The names of the configurations, the default one (all entities, "PF_DEFAULT_CONFIGURATION_NAME") first, the others
  /// sorted.
  ///
  /// A store gets a configuration's name when it is opened; nil and the default name mean all entities.
  open var configurations: [String] {
    [Self.defaultConfigurationName] + entityNamesByConfiguration.keys.sorted()
  }

  /// The entities of a configuration; nil for an unknown name. Nil as the name means all entities.
  ///
  /// ```swift
  /// for name in model.configurations { print(name, model.entities(forConfigurationName: name)?.count ?? 0) }
  /// ```
  ///
  /// - Returns: the entities in the order in which `setEntities` got them.
  open func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
    guard let configuration, configuration != Self.defaultConfigurationName else { return entities }
    guard let names = entityNamesByConfiguration[configuration] else { return nil }
    let byName = entitiesByName
    return names.compactMap { byName[$0] }
  }

  /// Makes a configuration of the given entities. Traps if one is not an entity of this model.
  ///
  /// ```swift
  /// if let model = model.copy() as? NSManagedObjectModel, let book = model.entitiesByName["Book"] {
  ///   model.setEntities([book], forConfigurationName: "Books")
  /// }
  /// ```
  ///
  /// A store that is opened with the configuration holds these entities alone, so one coordinator can keep parts of a
  /// model in several files. Relationships between entities of different stores are not possible.
  ///
  /// An entity may be in several configurations. New objects then go to the first store that has it, unless
  /// `assign(_:to:)` names one.
  ///
  /// - Parameters:
  ///   - entities: entities of this model; an empty list makes an empty configuration.
  ///   - configuration: the name. An existing configuration is replaced.
  open func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
    checkEditable()
    for entity in entities where !storedEntities.contains(where: { $0 === entity }) {
      fatalError(
        """
        The entity \(entity.name ?? "without a name") cannot be in the configuration \(configuration): it is not one \
        of the model's entities.
        """)
    }
    entityNamesByConfiguration[configuration] = entities.compactMap(\.name)
  }

  /// A copy with the named entities only, in the configurations too; this model itself if it has no others.
  ///
  /// A store keeps a copy of the part that it holds: see `KeptModel`.
  func part(named names: Set<String>) -> NSManagedObjectModel {
    guard !entities.allSatisfy({ names.contains($0.name ?? "") }), let part = copy() as? NSManagedObjectModel else {
      return self
    }
    part.entityNamesByConfiguration = entityNamesByConfiguration.mapValues { $0.filter(names.contains) }
      .filter { !$0.value.isEmpty }
    part.entities = part.entities.filter { names.contains($0.name ?? "") }
    return part
  }

  deinit {
    // A layout holds its entity and the entity's cache holds the layout: break that cycle with the model's end.
    for entity in storedEntities {
      entity.layoutCache.clear()
      for case let property as NSFetchedPropertyDescription in entity.declaredProperties {
        property.storedFetchRequest = nil
      }
    }
  }

  // MARK: Comparing

  /// By value: entities in any order, configurations, version identifiers, localised names and fetch request templates.
  ///
  /// Compare `versionChecksum` instead to find out whether two models can open the same stores.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectModel else { return false }
    return self === other
      || entitiesByName == other.entitiesByName
        && entityNamesByConfiguration.mapValues(Set.init) == other.entityNamesByConfiguration.mapValues(Set.init)
        && versionIdentifiers == other.versionIdentifiers
        && localizationDictionary ?? [:] == other.localizationDictionary ?? [:]
        && SameValues.of(fetchRequestTemplates, other.fetchRequestTemplates)
  }

  open override var hash: Int { Set(entitiesByName.keys).hashValue }

  // MARK: Copying

  /// A deep copy that may be changed, even if a coordinator uses this model. Its entities, relationships and fetch
  /// request templates refer to each other.
  ///
  /// ```swift
  /// if let newer = model.copy() as? NSManagedObjectModel {
  ///   let rating = NSAttributeDescription()
  ///   rating.name = "rating"
  ///   rating.type = .integer16
  ///   newer.entitiesByName["Book"]?.properties.append(rating)
  /// }
  /// ```
  ///
  /// Objects of the original's entities cannot be used with the copy. Values in user info are shared, not copied.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSManagedObjectModel()
    copyContents(into: copy)
    return copy
  }

  /// Fills an empty model with copies of this model's entities, which refer to each other.
  ///
  /// A subclass copies itself with it: the copy may be of any class.
  func copyContents(into copy: NSManagedObjectModel) {
    copy.entities = NSEntityDescription.copies(of: storedEntities)
    copy.entityNamesByConfiguration = entityNamesByConfiguration
    copy.versionIdentifiers = versionIdentifiers
    copy.localizationDictionary = localizationDictionary
    copy.addFetchRequestTemplates(of: self)
  }
}

extension NSManagedObjectModel {
  /// False once a coordinator uses the model.
  var isEditable: Bool { lookup.load() == nil }

  /// Makes the model immutable and keeps its lookup tables. Called by a coordinator; further calls do nothing.
  ///
  /// It settles ends of relationships first, since names are looked up through the model's dictionaries, then makes the
  /// lookup tables of each entity. From now on `isEditable` is false, and every setter of the model and its parts
  /// traps.
  ///
  /// Two coordinators that are made at once of one model take turns: the second finds it frozen. The tables are set
  /// once, by atomic references, so reading them needs no lock.
  func freeze() {
    freezing.lock()
    defer { freezing.unlock() }
    guard isEditable else { return }
    for case let relationship as NSRelationshipDescription in storedEntities.flatMap(\.declaredProperties) {
      relationship.settleEnds()
    }
    let lookup = ModelLookup(self)
    for entity in storedEntities {
      entity.freeze()
    }
    _ = self.lookup.storeIfNil(lookup)
  }

  /// Called by every setter before it changes anything.
  func checkEditable() {
    guard isEditable else {
      fatalError("A managed object model cannot be changed once a coordinator uses it; change a copy.")
    }
  }
}

extension NSManagedObjectModel: Sequence {
  /// Iterates over the entities.
  ///
  /// Apple's models conform to `NSFastEnumeration` in the same way.
  public func makeIterator() -> IndexingIterator<[NSEntityDescription]> {
    entities.makeIterator()
  }
}

/// The lookup tables of a frozen model.
///
/// Immutable, so any thread reads it without a lock.
private final class ModelLookup: Sendable {
  let entitiesByName: [String: NSEntityDescription]

  init(_ model: NSManagedObjectModel) {
    entitiesByName = Dictionary(
      model.entities.compactMap { entity in entity.name.map { ($0, entity) } }, uniquingKeysWith: { first, _ in first })
  }
}
