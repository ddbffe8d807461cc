/// An entity in a model file.
package struct ModelEntity {
  package let node: ModelNode
  package let name: String
  package let codeGeneration: CodeGeneration
  /// The properties that the entity declares itself.
  package internal(set) var properties: [ModelProperty] = []
  package internal(set) var lists = ModelPropertyLists()

  init(node: ModelNode, name: String, codeGeneration: CodeGeneration) {
    self.node = node
    self.name = name
    self.codeGeneration = codeGeneration
  }

  package var parentName: String? { node.attributes["parentEntity"] }
  package var isAbstract: Bool { node.flag("isAbstract") }

  /// The class that the file names; nil if the entity has no class of its own.
  package var representedClassName: String? {
    guard let name = node.attributes["representedClassName"], !name.isEmpty, name != "NSManagedObject" else {
      return nil
    }
    return name
  }

  /// Whether the class is in the module that the model is built into: the file marks it by a leading dot.
  package var isInProductModule: Bool { representedClassName?.hasPrefix(".") ?? false }

  /// The class's name without a module; nil if the entity has no class of its own.
  package var className: String? {
    representedClassName.flatMap { $0.split(separator: ".").last.map(String.init) }
  }
}

/// What Xcode generates for the class of an entity.
package enum CodeGeneration: String, Sendable {
  /// The whole class ("Class Definition").
  case classDefinition = "class"
  /// An extension with the properties ("Category/Extension").
  case category
  /// Nothing ("Manual/None"). Xcode leaves the entry out of the file.
  case manual = "none"
}

/// Lists of property names that an entity declares.
package struct ModelPropertyLists {
  package internal(set) var uniquenessConstraints: [[String]] = []
  package internal(set) var compoundIndexes: [[String]] = []
}

extension ModelDocument {
  func lists(of entity: ModelEntity) throws(ManagedObjectModelError) -> ModelPropertyLists {
    ModelPropertyLists(
      uniquenessConstraints: try lists("uniquenessConstraints", "uniquenessConstraint", "constraint", of: entity),
      compoundIndexes: try lists("compoundIndexes", "compoundIndex", "index", of: entity))
  }

  /// A group of lists, whose items have a "value" each.
  private func lists(
    _ group: String, _ list: String, _ item: String, of entity: ModelEntity
  ) throws(ManagedObjectModelError) -> [[String]] {
    var lists: [[String]] = []
    for node in entity.node.children(named: group).flatMap({ $0.children(named: list) }) {
      let names = node.children(named: item).compactMap { $0.attributes["value"] }
      for name in names where property(String(name.prefix { $0 != "." }), of: entity) == nil {
        throw error(node, entity: entity.name, "has a \(list) over \(name), which does not exist")
      }
      lists.append(names)
    }
    return lists
  }
}
