/// A data model in the form that Xcode's editor archives. A mapping model in source form holds two of them.
///
/// The archive lists each entity with its properties, and the settings of each as stereotypes: named values. Class
/// names and keys are those of archives that Xcode wrote. Only what version hashes are made of is read: which class an
/// entity has, and what its fetch requests look for, is not.
///
/// ```text
/// XDPMModel
///   _xd_rootPackage
///     XDBucketForClassesstorage               { "Book": an entity, … }
/// entity
///   XDBucketForGeneralizationsstorage         [ _general: the superentity ]
///   XDBucketForOwnedAttributesstorage         { "title": XDPMAttribute, "author": XDPMRelationship, … }
///   XDBucketForStereotypesstorage             { … { "XD_PSK_isAbstract": _default, … } }
/// XDPMAttribute
///   XDBucketForStereotypesstorage             … "XD_PAttK_attributeType": _default 700, "XD_PPSK_isOptional": true …
/// ```
///
/// `MappingDocument` reads it to learn the version hashes of both models of a `.xcmappingmodel`, by which a migration
/// finds the file. So nothing may be guessed: if a setting has an unknown part in the hash, `read` returns nil, and the
/// mapping is found by names instead.
struct EditorModel {
  /// The entities by their place in the archive.
  private var entities: [Int: NSEntityDescription] = [:]

  /// The model; nil if the archive is damaged, or has something whose part in a version hash is unknown.
  static func read(_ data: Data) -> NSManagedObjectModel? {
    // Without a readable archive the mappings are found by names.
    guard let archive = try? KeyedArchive(data), let root = archive.root, root.className == "XDPMModel",
      let package = root.object("_xd_rootPackage")
    else { return nil }
    var reader = EditorModel()
    let sources = package.entries("XDBucketForClassesstorage")
    guard reader.readEntities(sources), !archive.limits.areExceeded else { return nil }
    let model = NSManagedObjectModel()
    model.entities = sources.compactMap { reader.entities[$0.object.place] }
    return model
  }

  /// Makes the entities, then the hierarchy, then properties and what connects them, in the order of
  /// `ArchivedModel.readEntities`. False if something is damaged or unknown.
  private mutating func readEntities(_ sources: [(key: String, object: ArchivedObject)]) -> Bool {
    var parents: [Int: Int] = [:]
    for (name, source) in sources {
      let settings = Settings(source)
      let entity = NSEntityDescription()
      entity.name = name
      entity.isAbstract = settings.bool("XD_PSK_isAbstract")
      entity.versionHashModifier = settings.string("XD_PSK_versionHashModifier")
      entities[source.place] = entity
      if let parent = source.objects("XDBucketForGeneralizationsstorage").first?.object("_general") {
        parents[source.place] = parent.place
      }
    }
    guard parents.keys.allSatisfy({ !Self.isBelowItself($0, parents) }) else { return false }
    for (parent, children) in Dictionary(grouping: parents.keys, by: { parents[$0] ?? 0 }) {
      guard let entity = entities[parent] else { return false }
      entity.subentities = children.compactMap { entities[$0] }
    }
    for (_, source) in sources {
      let declared = source.entries("XDBucketForOwnedAttributesstorage")
      let properties = declared.compactMap { Self.property($0.object, $0.key) }
      guard properties.count == declared.count else { return false }
      entities[source.place]?.properties = properties
    }
    return sources.allSatisfy { connect($0.object) }
  }

  /// Whether the chain of parents contains a circle.
  private static func isBelowItself(_ entity: Int, _ parents: [Int: Int]) -> Bool {
    var seen: Set<Int> = [entity]
    var next = parents[entity]
    while let parent = next {
      guard seen.insert(parent).inserted else { return true }
      next = parents[parent]
    }
    return false
  }

  /// Nil for a kind or a setting that is unknown.
  ///
  /// A relationship that is not to-many has the maximum 1, whatever number its settings have.
  private static func property(_ source: ArchivedObject, _ name: String) -> NSPropertyDescription? {
    let settings = Settings(source)
    guard settings.areKnown else { return nil }
    let property: NSPropertyDescription
    switch source.className {
    case "XDPMAttribute":
      let attribute = NSAttributeDescription()
      guard let type = NSAttributeType(rawValue: UInt(clamping: settings.integer("XD_PAttK_attributeType") ?? 0)) else {
        return nil
      }
      attribute.attributeType = type
      attribute.allowsExternalBinaryDataStorage = settings.bool("XD_PAttK_allowsExternalBinaryDataStorage")
      property = attribute
    case "XDPMRelationship":
      let relationship = NSRelationshipDescription()
      relationship.minCount = settings.integer("XD_PRK_minCount") ?? 0
      relationship.maxCount = settings.bool("XD_PRK_isToMany") ? settings.integer("XD_PRK_maxCount") ?? 0 : 1
      relationship.isOrdered = settings.bool("XD_PRK_ordered")
      property = relationship
    case "XDPMFetchedProperty": property = NSFetchedPropertyDescription()
    default: return nil
    }
    property.name = name
    property.isOptional = settings.bool("XD_PPSK_isOptional")
    property.isTransient = settings.bool("XD_PPSK_isTransient")
    property.versionHashModifier = settings.string("XD_PPSK_versionHashModifier")
    return property
  }

  /// Sets what leads to other entities and properties.
  ///
  /// - Returns: false if a uniqueness constraint has no names: it is part of the hash.
  private func connect(_ source: ArchivedObject) -> Bool {
    guard let entity = entities[source.place] else { return false }
    for (name, property) in source.entries("XDBucketForOwnedAttributesstorage") {
      guard property.className == "XDPMRelationship" else { continue }
      let settings = Settings(property)
      let destination = settings.object("XD_PRK_destination").flatMap { entities[$0.place] }
      let relationship = entity.declaredProperties.first { $0.name == name } as? NSRelationshipDescription
      relationship?.destinationEntity = destination
      relationship?.inverseRelationship = settings.object("XD_PRK_inverseRelationship").flatMap {
        destination?.relationshipsByName[$0.string("_name") ?? ""]
      }
    }
    let constraints = Settings(source).object("XDPMUniquenessConstraints")?.objects.map(\.strings) ?? []
    entity.uniquenessConstraints = constraints
    return constraints.allSatisfy { !$0.isEmpty }
  }

  /// The settings of an entity or a property, of all its stereotypes.
  ///
  /// Each setting is an object with the value under `_default`. The names begin with the kind that has them: `XD_PSK`
  /// entities, `XD_PPSK` all properties, `XD_PAttK` attributes, `XD_PRK` relationships.
  private struct Settings {
    private static let key = "_default"
    /// The settings of attributes and relationships. Those that are not read here have no part in a version hash.
    ///
    /// A setting that is not in this list, and has a value, makes the model unreadable: later versions of Xcode may
    /// have added one that the version hash contains.
    private static let knownSettings: Set<String> = [
      "XD_PPSK_isStoredInTruthFile", "XD_PPSK_versionHashModifier", "XD_PPSK_userInfo", "XD_PPSK_isIndexed",
      "XD_PPSK_isOptional", "XD_PPSK_isSpotlightIndexed", "XD_PPSK_elementID", "XD_PPSK_isTransient",
      "XD_PAttK_defaultValueAsString", "XD_PAttK_allowsExternalBinaryDataStorage", "XD_PAttK_minValueString",
      "XD_PAttK_attributeType", "XD_PAttK_maxValueString", "XD_PAttK_valueTransformerName",
      "XD_PAttK_regularExpressionString", "XD_PRK_deleteRule", "XD_PRK_destination", "XD_PRK_inverseRelationship",
      "XD_PRK_isToMany", "XD_PRK_maxCount", "XD_PRK_minCount", "XD_PRK_ordered",
    ]

    private let values: [String: ArchivedObject]

    init(_ source: ArchivedObject) {
      values = Dictionary(
        source.entries("XDBucketForStereotypesstorage")
          .flatMap { $0.object.entries("XDBucketForOwnedAttributesstorage") }.map { ($0.key, $0.object) },
        uniquingKeysWith: { first, _ in first })
    }

    /// Whether each setting that has a value is one of those known.
    var areKnown: Bool {
      values.allSatisfy { name, value in
        Self.knownSettings.contains(name)
          || !value.bool(Self.key) && value.string(Self.key) == nil && object(name) == nil
      }
    }

    func string(_ name: String) -> String? { values[name]?.string(Self.key) }
    func integer(_ name: String) -> Int? { values[name]?.integer(Self.key) }
    func bool(_ name: String) -> Bool { values[name]?.bool(Self.key) ?? false }
    func object(_ name: String) -> ArchivedObject? { values[name]?.object(Self.key) }
  }
}
