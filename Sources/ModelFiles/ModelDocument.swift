/// One version of a model as its file describes it, checked: every name in it exists and fits.
///
/// Predicates and expressions stay text: only CoreData can parse them.
package struct ModelDocument {
  /// The file that was read.
  package let file: URL
  package let root: ModelNode
  package private(set) var entities: [ModelEntity] = []
  package private(set) var configurations: [(name: String, members: [String])] = []
  package private(set) var fetchRequests: [(name: String, request: ModelFetchRequest)] = []
  private var positions: [String: Int] = [:]

  init(_ root: ModelNode, of file: URL) throws(ManagedObjectModelError) {
    self.file = file
    self.root = root
    guard root.name == "model" else {
      throw ManagedObjectModelError(file, line: root.line, "is not a data model: its root element is <\(root.name)>")
    }
    for node in root.children(named: "entity") {
      let entity = try self.entity(node)
      guard positions.updateValue(entities.count, forKey: entity.name) == nil else {
        throw error(node, entity: entity.name, "is there twice")
      }
      entities.append(entity)
    }
    try checkHierarchy()
    for index in entities.indices {
      entities[index].properties = try properties(of: entities[index])
    }
    for index in entities.indices {
      entities[index].lists = try lists(of: entities[index])
    }
    for entity in entities { try checkReferences(of: entity) }
    try readConfigurations()
    try readFetchRequests()
  }

  package subscript(name: String) -> ModelEntity? { positions[name].map { entities[$0] } }

  /// The module that the model was compiled into; nil in a model's source.
  package var productModuleName: String? { root.attributes[CompiledModel.productModuleKey] }

  /// The entity and its ancestors, the entity first.
  package func line(of entity: ModelEntity) -> [ModelEntity] {
    Array(sequence(first: entity) { $0.parentName.flatMap { self[$0] } })
  }

  /// An error at the line of a node.
  package func error(
    _ node: ModelNode, entity: String?, property: String? = nil, _ reason: String
  ) -> ManagedObjectModelError {
    ManagedObjectModelError(file, line: node.line, entity: entity, property: property, reason)
  }

  // MARK: Entities

  private func entity(_ node: ModelNode) throws(ManagedObjectModelError) -> ModelEntity {
    guard let name = node.attributes["name"], !name.isEmpty else {
      throw error(node, entity: nil, "has an entity without a name")
    }
    let text = node.attributes["codeGenerationType"] ?? CodeGeneration.manual.rawValue
    guard let codeGeneration = CodeGeneration(rawValue: text) else {
      throw error(node, entity: name, "has the unknown code generation \(text); there are class, category, and none")
    }
    return ModelEntity(node: node, name: name, codeGeneration: codeGeneration)
  }

  private func checkHierarchy() throws(ManagedObjectModelError) {
    for entity in entities {
      guard let parent = entity.parentName, self[parent] == nil else { continue }
      throw error(entity.node, entity: entity.name, "has the parent entity \(parent), which does not exist")
    }
    for entity in entities {
      let line = sequence(first: entity) { $0.parentName.flatMap { self[$0] } }.prefix(entities.count + 1)
      guard Array(line).count <= entities.count else {
        throw error(entity.node, entity: entity.name, "inherits from itself")
      }
    }
  }

  private func properties(of entity: ModelEntity) throws(ManagedObjectModelError) -> [ModelProperty] {
    var properties: [ModelProperty] = []
    var names: Set<String> = []
    for node in entity.node.children where ["attribute", "relationship", "fetchedProperty"].contains(node.name) {
      guard let name = node.attributes["name"], !name.isEmpty else {
        throw error(node, entity: entity.name, "has a property without a name")
      }
      guard names.insert(name).inserted else {
        throw error(node, entity: entity.name, property: name, "is there twice")
      }
      let kind: ModelProperty.Kind
      switch node.name {
      case "attribute": kind = .attribute(try attribute(node, entity.name))
      case "relationship": kind = .relationship(try relationship(node, entity.name))
      default: kind = .fetched(try fetchRequest(of: node, entity.name))
      }
      properties.append(ModelProperty(node: node, name: name, kind: kind))
    }
    return properties
  }

  // MARK: Beside the entities

  private mutating func readConfigurations() throws(ManagedObjectModelError) {
    for node in root.children(named: "configuration") {
      let name = node.attributes["name"] ?? ""
      let members = node.children(named: "memberEntity").map { $0.attributes["name"] ?? "" }
      for member in members where self[member] == nil {
        throw error(node, entity: nil, "has the configuration \(name) with the entity \(member), which does not exist")
      }
      configurations.append((name, members))
    }
  }

  private mutating func readFetchRequests() throws(ManagedObjectModelError) {
    for node in root.children(named: "fetchRequest") {
      let name = node.attributes["name"] ?? ""
      fetchRequests.append((name, try fetchRequest(node, nil, name)))
    }
  }
}
