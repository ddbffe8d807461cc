/// A property in a model file.
package struct ModelProperty {
  package enum Kind {
    case attribute(ModelAttribute)
    case relationship(ModelRelationship)
    case fetched(ModelFetchRequest?)
  }

  package let node: ModelNode
  package let name: String
  package let kind: Kind

  package var isOptional: Bool { node.flag("optional") }
  package var isTransient: Bool { node.flag("transient") }
}

package struct ModelRelationship {
  package let destinationName: String
  package let inverseName: String?
  /// The largest number of related objects; 0 means any number.
  package let maxCount: Int
  package let minCount: Int
  package let isOrdered: Bool
  package let deleteRule: NSDeleteRule

  package var isToMany: Bool { maxCount != 1 }
}

/// A fetch request in a model file: a template of the model, or the request of a fetched property.
package struct ModelFetchRequest {
  package let node: ModelNode
  package let entityName: String
  /// Numbers by their key in the file: `resultType`, `fetchLimit`, `fetchBatchSize`.
  package let numbers: [String: Int]

  package var predicate: String? { node.attributes["predicateString"] }

  /// The flag under a key; nil if the file leaves it out.
  package func flag(_ key: String) -> Bool? { node.attributes[key].map { $0 == "YES" } }
}

extension ModelDocument {
  /// The property of an entity or of one of its ancestors.
  package func property(_ name: String, of entity: ModelEntity) -> ModelProperty? {
    line(of: entity).lazy.compactMap { $0.properties.first { $0.name == name } }.first
  }

  func relationship(_ node: ModelNode, _ entityName: String) throws(ManagedObjectModelError) -> ModelRelationship {
    let name = node.attributes["name"]
    let ruleName = node.attributes["deletionRule"] ?? "No Action"
    guard let rule = NSDeleteRule(modelFileName: ruleName) else {
      throw error(node, entity: entityName, property: name, "has the unknown delete rule \(ruleName)")
    }
    guard let destinationName = node.attributes["destinationEntity"] else {
      throw error(node, entity: entityName, property: name, "has no destination entity")
    }
    return ModelRelationship(
      destinationName: destinationName, inverseName: node.attributes["inverseName"],
      maxCount: try count("maxCount", of: node, entityName) ?? (node.flag("toMany") ? 0 : 1),
      minCount: try count("minCount", of: node, entityName) ?? 0, isOrdered: node.flag("ordered"), deleteRule: rule)
  }

  private func count(
    _ key: String, of node: ModelNode, _ entityName: String
  ) throws(ManagedObjectModelError) -> Int? {
    guard let text = node.attributes[key] else { return nil }
    guard let count = Int32(text) else {
      throw error(
        node, entity: entityName, property: node.attributes["name"], "has the \(key) \"\(text)\", which is not a count")
    }
    return Int(count)
  }

  /// The request of a fetched property; nil for none.
  func fetchRequest(of node: ModelNode, _ entityName: String) throws(ManagedObjectModelError) -> ModelFetchRequest? {
    guard let requestNode = node.children(named: "fetchRequest").first else { return nil }
    return try fetchRequest(requestNode, entityName, node.attributes["name"] ?? "")
  }

  func fetchRequest(
    _ node: ModelNode, _ owner: String?, _ name: String
  ) throws(ManagedObjectModelError) -> ModelFetchRequest {
    let entityName = node.attributes["entity"] ?? ""
    guard self[entityName] != nil else {
      throw error(node, entity: owner, property: name, "fetches the entity \(entityName), which does not exist")
    }
    var numbers: [String: Int] = [:]
    for key in ["resultType", "fetchLimit", "fetchBatchSize"] {
      guard let text = node.attributes[key] else { continue }
      guard let number = Int(text) else {
        throw error(node, entity: owner, property: name, "has the \(key) \"\(text)\", which is not a number")
      }
      numbers[key] = number
    }
    return ModelFetchRequest(node: node, entityName: entityName, numbers: numbers)
  }

  /// Checks that everything exists that an entity's relationships and indexes name.
  func checkReferences(of entity: ModelEntity) throws(ManagedObjectModelError) {
    for property in entity.properties {
      guard case .relationship(let relationship) = property.kind else { continue }
      guard let destination = self[relationship.destinationName] else {
        throw error(
          property.node, entity: entity.name, property: property.name,
          "leads to the entity \(relationship.destinationName), which does not exist")
      }
      guard let inverseName = relationship.inverseName else { continue }
      guard case .relationship? = self.property(inverseName, of: destination)?.kind else {
        throw error(
          property.node, entity: entity.name, property: property.name,
          "has the inverse \(destination.name).\(inverseName), which does not exist")
      }
    }
    for index in entity.node.children(named: "fetchIndex") {
      for name in index.children(named: "fetchIndexElement").compactMap({ $0.attributes["property"] })
      where property(name, of: entity) == nil {
        throw error(
          index, entity: entity.name,
          "has the fetch index \(index.attributes["name"] ?? "") over \(name), which does not exist"
        )
      }
    }
  }
}
