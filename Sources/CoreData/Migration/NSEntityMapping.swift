/// What a migration does with the objects of an entity. Raw values are Apple's. Inferred mappings add, remove, copy or
/// transform.
///
/// A migration object by object treats only added and removed entities specially; for all other kinds it calls the
/// policy for each old object. So the property mappings of a copied entity are evaluated too.
public enum NSEntityMappingType: UInt, Sendable {
  /// Not set; handled like a transformation.
  case undefinedEntityMappingType = 0
  /// A migration policy migrates the objects. Xcode sets it for a mapping that names a policy.
  case customEntityMappingType = 1
  /// The entity is new and has no old objects.
  case addEntityMappingType = 2
  /// The new model lacks the entity, and its objects are dropped.
  ///
  /// No old object is read, and the policy's methods for objects are not called.
  case removeEntityMappingType = 3
  /// The entity did not change. Inference sets it if the version hashes are equal.
  case copyEntityMappingType = 4
  /// The entity changed: the values of old objects go to the new properties.
  case transformEntityMappingType = 5
}

/// Maps one entity to another.
///
/// Xcode's editor and inference make them; a program that makes one sets the names of both entities, and a property
/// mapping for each property of the new one. Changing an inferred mapping makes the migration go object by object.
///
/// ```swift
/// let mapping = NSEntityMapping()
/// mapping.name = "BookToVolume"
/// mapping.mappingType = .transformEntityMappingType
/// mapping.sourceEntityName = "Book"
/// mapping.destinationEntityName = "Volume"
/// let title = NSPropertyMapping()
/// title.name = "title"
/// title.valueExpression = NSExpression(format: "$source.title")
/// mapping.attributeMappings = [title]
/// let mappingModel = NSMappingModel()
/// mappingModel.entityMappings = [mapping]
/// ```
///
/// Change it before the migration, which reads it while it runs. Not `Sendable`: use it on one thread.
///
/// Source: Apple's documentation of `NSEntityMapping`.
open class NSEntityMapping: NSObject {
  /// The name: "PersonToPerson", of inferred mappings "IEM_Copy_Person". Unique in its mapping model.
  ///
  /// Expressions and policies find the objects of a mapping by it; two mappings with one name share them.
  open var name: String! = "" { didSet { isEdited = true } }
  /// The kind of the mapping. Default: undefined.
  open var mappingType: NSEntityMappingType = .undefinedEntityMappingType { didSet { isEdited = true } }
  /// The name of the old entity; nil for a new one.
  ///
  /// Subentities need mappings of their own, unless `sourceExpression` fetches their objects.
  open var sourceEntityName: String? { didSet { isEdited = true } }
  /// The `versionHash` of the old entity; nil if it does not matter.
  ///
  /// `NSMappingModel.init?(from:forSourceModel:destinationModel:)` finds a file by it: the source model must have an
  /// entity of this name and hash.
  open var sourceEntityVersionHash: Data?
  /// The name of the new entity; nil for a removed one.
  ///
  /// The migration inserts objects of this entity, whose subentities need mappings of their own.
  open var destinationEntityName: String? { didSet { isEdited = true } }
  /// The `versionHash` of the new entity; nil if it does not matter.
  ///
  /// A file is found by it as by `sourceEntityVersionHash`.
  open var destinationEntityVersionHash: Data?
  /// A mapping for each attribute of the new entity; nil for a removed entity.
  ///
  /// An attribute without a mapping gets its default value.
  open var attributeMappings: [NSPropertyMapping]? { didSet { isEdited = true } }
  /// A mapping for each relationship of the new entity; nil for a removed entity.
  ///
  /// A relationship without a mapping is empty, unless that of its inverse sets it.
  open var relationshipMappings: [NSPropertyMapping]? { didSet { isEdited = true } }
  /// An `NSFetchRequestExpression` whose value is the objects to migrate; nil for all objects of the old entity,
  /// without those of its subentities.
  ///
  /// ```swift
  /// let mapping = NSEntityMapping()
  /// mapping.sourceExpression = NSExpression(
  ///   format: "FETCH(FUNCTION($manager, %@, %@, %@), $manager.sourceContext, NO)",
  ///   "fetchRequestForSourceEntityNamed:predicateString:", "Book", "isRead == YES")
  /// ```
  open var sourceExpression: NSExpression? { didSet { isEdited = true } }
  /// Notes of the developer; the framework does not read them. Default: nil. In an inferred mapping it has the names of
  /// the properties that are mapped, added and removed: sets under "mappedProperties", "addedProperties" and
  /// "removedProperties".
  open var userInfo: [AnyHashable: Any]?
  /// The name of the class that migrates the objects, a subclass of `NSEntityMigrationPolicy`; nil for that class
  /// itself.
  ///
  /// The migration throws 134170 at its beginning if the program has no such class. `NSStringFromClass(_:)` gives the
  /// name of a class.
  open var entityMigrationPolicyClassName: String? { didSet { isEdited = true } }

  private var wasEdited = false
  /// Whether something was set after the mapping was inferred.
  ///
  /// A migration in the store's file does what inference says, so a mapping model that was changed must not be carried
  /// out there.
  var isEdited: Bool {
    get { wasEdited || ((attributeMappings ?? []) + (relationshipMappings ?? [])).contains(where: \.isEdited) }
    set { wasEdited = newValue }
  }

  /// A mapping without entities.
  public override init() { super.init() }

  /// The inferred mapping of an entity, with the names and expressions that Apple's framework gives:
  /// "IEM_Transform_Book".
  convenience init(_ mapping: InferredMapping.Entity) {
    self.init()
    let destination = mapping.destination
    let destinationName = destination.name ?? ""
    sourceEntityName = mapping.source?.name
    destinationEntityName = destinationName
    sourceEntityVersionHash = mapping.source?.versionHash
    destinationEntityVersionHash = destination.versionHash
    if let source = mapping.source {
      mappingType = source.versionHash == destination.versionHash ? .copyEntityMappingType : .transformEntityMappingType
      name = "IEM_\(mappingType == .copyEntityMappingType ? "Copy" : "Transform")_\(destinationName)"
    } else {
      mappingType = .addEntityMappingType
      name = "IEM_Add_\(destinationName)"
    }
    attributeMappings = destination.attributesByName.keys.sorted().map { key in
      NSPropertyMapping(name: key, mapping.attributes[key].map { .attribute($0.name) })
    }
    relationshipMappings = destination.relationshipsByName.keys.sorted().map { key in
      NSPropertyMapping(
        name: key, mapping.relationships[key].map { .relationship($0.name, mappingName: nil, path: $0.name) })
    }
    let sources = mapping.attributes.mapValues(\.name).merging(mapping.relationships.mapValues(\.name)) { $1 }
    tell(
      mapped: Set(sources.keys), added: destination.storedPropertyNames.subtracting(sources.keys),
      removed: mapping.source.map { $0.storedPropertyNames.subtracting(sources.values) } ?? [])
    isEdited = false
  }

  /// The mapping of an entity that the new model lacks.
  convenience init(removed source: NSEntityDescription) {
    self.init()
    name = "IEM_Remove_\(source.name ?? "")"
    mappingType = .removeEntityMappingType
    sourceEntityName = source.name
    sourceEntityVersionHash = source.versionHash
    tell(mapped: [], added: [], removed: source.storedPropertyNames)
    isEdited = false
  }

  /// Notes in the user info what happens to the properties, as Apple's inferred mappings do, so that a program can show
  /// it before a migration.
  private func tell(mapped: Set<String>, added: Set<String>, removed: Set<String>) {
    userInfo = ["mappedProperties": mapped, "addedProperties": added, "removedProperties": removed]
  }

  /// Entity mappings are equal if everything but `userInfo` is.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSEntityMapping else { return false }
    return other.name == name && other.mappingType == mappingType && other.sourceEntityName == sourceEntityName
      && other.sourceEntityVersionHash == sourceEntityVersionHash
      && other.destinationEntityName == destinationEntityName
      && other.destinationEntityVersionHash == destinationEntityVersionHash
      && other.attributeMappings == attributeMappings && other.relationshipMappings == relationshipMappings
      && other.sourceExpression == sourceExpression
      && other.entityMigrationPolicyClassName == entityMigrationPolicyClassName
  }

  open override var hash: Int { name?.hashValue ?? 0 }

  /// Sets the values of properties that keep their name, which Xcode's source form leaves out.
  ///
  /// It is done twice: with the models that the file holds, and with those of the migration, which may have properties
  /// that the file's models lack.
  ///
  /// - Parameter mappings: all mappings of the model, among which the one for a relationship's objects is looked for.
  func resolve(
    _ source: NSManagedObjectModel, _ destination: NSManagedObjectModel, among mappings: [NSEntityMapping]
  ) {
    let old = sourceEntityName.flatMap { source.entitiesByName[$0] }
    let new = destinationEntityName.flatMap { destination.entitiesByName[$0] }
    sourceEntityVersionHash = sourceEntityVersionHash ?? old?.versionHash
    destinationEntityVersionHash = destinationEntityVersionHash ?? new?.versionHash
    for mapping in attributeMappings ?? [] where mapping.isGenerated {
      guard let name = mapping.name, old?.attributesByName[name] != nil else { continue }
      mapping.generate(.attribute(name))
    }
    for mapping in relationshipMappings ?? [] where mapping.isGenerated {
      guard let name = mapping.name, let was = old?.relationshipsByName[name] else { continue }
      // The only mapping of the objects at the other end is named; several are not.
      let others = mappings.filter { $0.sourceEntityName == was.destinationEntity?.name }
      let isAlone = others.count == 1 && was.destinationEntity?.subentities.isEmpty ?? true
      mapping.generate(.relationship(name, mappingName: isAlone ? others[0].name : nil, path: name))
    }
  }
}

extension NSEntityDescription {
  /// The names of attributes and relationships, inherited ones included, that are not transient.
  fileprivate var storedPropertyNames: Set<String> {
    Set(properties.filter { !$0.isTransient && !($0 is NSFetchedPropertyDescription) }.map(\.name))
  }
}

/// Maps a value or old objects to one property of the new object.
///
/// ```swift
/// let mapping = NSPropertyMapping()
/// mapping.name = "title"
/// mapping.valueExpression = NSExpression(format: "uppercase:($source.title)")
/// ```
///
/// The expressions may call methods: those of the manager, such as
/// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)`, and
/// those of a policy, which answers in `value(forSelector:arguments:)`.
///
/// Source: Apple's documentation of `NSPropertyMapping`.
open class NSPropertyMapping: NSObject {
  /// The name of the new property. Default: nil, with which the mapping has no effect.
  open var name: String? { didSet { isEdited = true } }
  /// The value, evaluated with the variables `$source`, `$destination`, `$manager`, `$entityMapping`,
  /// `$propertyMapping` and `$entityPolicy`; nil for a new property, which gets its default value.
  ///
  /// For an attribute the value must be of its type; nil leaves the default of a mandatory attribute. For a
  /// relationship it is a new object, or a collection of new objects; those of other entities are left out. What an
  /// expression throws ends the migration.
  open var valueExpression: NSExpression? {
    didSet {
      isEdited = true
      isGenerated = false
    }
  }
  /// Notes of the developer; the framework does not read them. Default: nil.
  open var userInfo: [AnyHashable: Any]?

  var isEdited = false
  /// Whether the expression is the one that Xcode generates from both models.
  var isGenerated = false

  /// A mapping without a property.
  public override init() { super.init() }

  /// Property mappings are equal if name and expression are.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPropertyMapping else { return false }
    return other.name == name && other.valueExpression == valueExpression
  }

  open override var hash: Int { name.hashValue }

  /// Sets the expression that Xcode generates for the models that are known now. A later call with other models
  /// replaces it.
  fileprivate func generate(_ source: Source) {
    valueExpression = source.expression
    isGenerated = true
  }

  convenience init(name: String, _ source: Source?) {
    self.init()
    self.name = name
    valueExpression = source?.expression
    isEdited = false
  }

  /// Where values come from in the usual mappings.
  ///
  /// The expressions are those that Xcode and Apple's inference write, so mapping models made here and there look
  /// alike.
  enum Source {
    /// The attribute of the old object.
    case attribute(String)
    /// The new objects that a mapping, or with nil any mapping, made of the objects at a path of the old object.
    case relationship(String, mappingName: String?, path: String)

    var expression: NSExpression {
      switch self {
      case .attribute(let name): Self.path(name)
      case .relationship(let name, let mappingName, let path):
        NSExpression(
          node: .function(
            name: mappingName == nil
              ? MappingFunction.instancesOfRelationship.rawValue : MappingFunction.instancesOfMapping.rawValue,
            operand: NSExpression(forVariable: NSMigrationManagerKey),
            arguments: [NSExpression(forConstantValue: mappingName ?? name), Self.path(path)]))
      }
    }

    /// The value at a path of the old object; the old object itself for "".
    private static func path(_ path: String) -> NSExpression {
      let source = NSExpression(forVariable: NSMigrationSourceObjectKey)
      return path.isEmpty ? source : NSExpression(node: .keyPath(operand: source, path: KeyPathComponents(path)))
    }
  }
}

/// The variable of a mapping's expressions whose value is the `NSMigrationManager`.
///
/// `$manager.sourceContext`, `.destinationContext`, `.sourceModel`, `.destinationModel`, `.mappingModel`,
/// `.currentEntityMapping` and `.userInfo` can be read.
public let NSMigrationManagerKey = "manager"
/// The variable of a mapping's expressions whose value is the old object.
///
/// Nil in source expressions, which are evaluated before there is one.
public let NSMigrationSourceObjectKey = "source"
/// The variable of a mapping's expressions whose value is the new object.
///
/// In an attribute mapping it has only the values of the attribute mappings before this one.
public let NSMigrationDestinationObjectKey = "destination"
/// The variable of a mapping's expressions whose value is the `NSEntityMapping`.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The variable of a mapping's expressions whose value is the `NSPropertyMapping`.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The variable of a mapping's expressions whose value is the `NSEntityMigrationPolicy`.
///
/// `FUNCTION($entityPolicy, "name:", …)` calls its `value(forSelector:arguments:)`.
public let NSMigrationEntityPolicyKey = "entityPolicy"
