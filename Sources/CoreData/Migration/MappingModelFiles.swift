/// Reads mapping models: Xcode's `.xcmappingmodel` and the compiled `.cdm`.
///
/// ```text
/// Library.xcmappingmodel/xcmapping.xml     MappingDocument
/// Library.cdm                              a keyed archive of an NSMappingModel:
///   NSEntityMappings [ NSMappingName "AuthorToWriter", NSMappingType 5, NSSourceEntityName "Author",
///                      NSSourceEntityVersionHash, NSDestinationEntityName, NSDestinationEntityVersionHash,
///                      NSAttributeMappings [ NSDestinationPropertyName "familyName", NSValueExpression … ],
///                      NSRelationshipMappings, NSSourceExpression, NSEntityMigrationPolicyClassName ]
/// ```
///
/// Opening a store asks `exist` first: without a mapping model in the program, the search for the store's old model,
/// which reads all model files, is not needed.
enum MappingModelFiles {
  /// In the order of preference: a compiled file has everything that a migration needs.
  static let fileTypes = ["cdm", "xcmappingmodel"]

  /// Whether the program's bundles have any mapping model.
  static var exist: Bool {
    fileTypes.contains { type in
      Bundle.ofProgram.contains { !($0.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []).isEmpty }
    }
  }

  /// The mappings of a file, with the data models that Xcode's source form holds.
  ///
  /// - Returns: nil if there is no such file or it is damaged.
  static func contents(at url: URL) -> (mappings: [NSEntityMapping], models: MappingDocument.Models?)? {
    if url.pathExtension == "xcmappingmodel" {
      guard let data = FileManager.default.contents(atPath: url.appendingPathComponent("xcmapping.xml").path),
        let root = try? ModelNode.parse(data)
      else { return nil }
      let document = MappingDocument(root)
      return (document.mappings, document.models)
    }
    // A file that is no archive is no mapping model: the search goes on.
    guard let data = FileManager.default.contents(atPath: url.path), let root = try? KeyedArchive(data).root,
      root.className == "NSMappingModel"
    else { return nil }
    let mappings = root.objects("NSEntityMappings").map(mapping)
    return root.limits.areExceeded ? nil : (mappings, nil)
  }

  /// The mapping model between two models among the files of bundles; compiled ones first.
  ///
  /// Each file is read until one fits. The models are needed to tell, by version hashes or by names: see
  /// `leads(from:to:)`.
  static func find(
    in bundles: [Bundle], from source: NSManagedObjectModel, to destination: NSManagedObjectModel
  ) -> NSMappingModel? {
    for type in fileTypes {
      for bundle in bundles {
        for url in (bundle.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []) {
          guard let model = NSMappingModel(contentsOf: url as URL), model.leads(from: source, to: destination) else {
            continue
          }
          model.resolve(source, destination)
          return model
        }
      }
    }
    return nil
  }

  /// An entity mapping of a compiled file.
  private static func mapping(_ archived: ArchivedObject) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = archived.string("NSMappingName")
    mapping.mappingType =
      NSEntityMappingType(rawValue: UInt(clamping: archived.integer("NSMappingType") ?? 0))
      ?? .undefinedEntityMappingType
    mapping.sourceEntityName = archived.string("NSSourceEntityName")
    mapping.sourceEntityVersionHash = archived.data("NSSourceEntityVersionHash")
    mapping.destinationEntityName = archived.string("NSDestinationEntityName")
    mapping.destinationEntityVersionHash = archived.data("NSDestinationEntityVersionHash")
    mapping.attributeMappings = archived.objects("NSAttributeMappings").map(propertyMapping)
    mapping.relationshipMappings = archived.objects("NSRelationshipMappings").map(propertyMapping)
    mapping.sourceExpression = archived.expression("NSSourceExpression")
    mapping.userInfo = archived.value("NSUserInfo") as? [AnyHashable: Any]
    mapping.entityMigrationPolicyClassName = archived.string("NSEntityMigrationPolicyClassName")
    return mapping
  }

  private static func propertyMapping(_ archived: ArchivedObject) -> NSPropertyMapping {
    let mapping = NSPropertyMapping()
    mapping.name = archived.string("NSDestinationPropertyName")
    mapping.valueExpression = archived.expression("NSValueExpression")
    mapping.userInfo = archived.value("NSUserInfo") as? [AnyHashable: Any]
    return mapping
  }
}

extension NSMappingModel {
  /// Whether the mappings are those between two models. Version hashes decide where the file has them: those of both
  /// models in Xcode's source form, those of the mapped entities in the compiled form. Otherwise the names of entities
  /// and attributes decide.
  fileprivate func leads(from source: NSManagedObjectModel, to destination: NSManagedObjectModel) -> Bool {
    if let modelHashes {
      return modelHashes.source == source.entityVersionHashesByName
        && modelHashes.destination == destination.entityVersionHashesByName
    }
    let mappings = entityMappings ?? []
    let mapped = Set(mappings.compactMap(\.destinationEntityName))
    return mappings.allSatisfy { $0.leads(from: source, to: destination) }
      // An abstract entity has no objects.
      && destination.entities.allSatisfy { $0.isAbstract || mapped.contains($0.name ?? "") }
  }
}

extension NSEntityMapping {
  fileprivate func leads(from source: NSManagedObjectModel, to destination: NSManagedObjectModel) -> Bool {
    func fits(_ name: String?, _ hash: Data?, _ model: NSManagedObjectModel) -> Bool {
      guard let name else { return true }
      guard let entity = model.entitiesByName[name] else { return false }
      return hash == nil || hash == entity.versionHash
    }
    guard fits(sourceEntityName, sourceEntityVersionHash, source),
      fits(destinationEntityName, destinationEntityVersionHash, destination)
    else { return false }
    guard destinationEntityVersionHash == nil,
      let entity = destinationEntityName.flatMap({ destination.entitiesByName[$0] })
    else { return true }
    let attributes = Set(entity.attributesByName.values.filter { !$0.isTransient }.map(\.name))
    let mapped = Set((attributeMappings ?? []).compactMap(\.name))
    return mapped.isSubset(of: entity.attributesByName.keys)
      && attributes.subtracting(mapped).allSatisfy { entity.attributesByName[$0]?.entity !== entity }
  }
}
