extension ModelReader {
  private static let deleteRules: [String: NSDeleteRule] = [
    "No Action": .noActionDeleteRule, "Nullify": .nullifyDeleteRule, "Cascade": .cascadeDeleteRule,
    "Deny": .denyDeleteRule,
  ]

  /// A relationship that leads nowhere yet.
  func relationship(
    _ node: ModelNode, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSRelationshipDescription {
    let name = node.attributes["name"]
    let relationship = NSRelationshipDescription()
    let ruleName = node.attributes["deletionRule"] ?? "No Action"
    guard let rule = Self.deleteRules[ruleName] else {
      throw error(entityName, name, "has the unknown delete rule \(ruleName)")
    }
    relationship.deleteRule = rule
    relationship.isOrdered = node.flag("ordered")
    relationship.maxCount = try count("maxCount", of: node, entityName) ?? (node.flag("toMany") ? 0 : 1)
    relationship.minCount = try count("minCount", of: node, entityName) ?? 0
    return relationship
  }

  private func count(
    _ key: String, of node: ModelNode, _ entityName: String
  ) throws(ManagedObjectModelError) -> Int? {
    guard let text = node.attributes[key] else { return nil }
    guard let count = Int32(text) else {
      throw error(entityName, node.attributes["name"], "has the \(key) \"\(text)\", which is no count")
    }
    return Int(count)
  }

  /// Lets the relationships of an entity lead to their destinations and know their inverses.
  func connectRelationships(
    _ node: ModelNode, of entity: NSEntityDescription, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    let entityName = entity.name ?? ""
    for child in node.children(named: "relationship") {
      let name = child.attributes["name"] ?? ""
      guard let relationship = entity.relationshipsByName[name] else { continue }
      guard let destinationName = child.attributes["destinationEntity"] else {
        throw error(entityName, name, "has no destination entity")
      }
      guard let destination = byName[destinationName] else {
        throw error(entityName, name, "leads to the entity \(destinationName), which does not exist")
      }
      relationship.destinationEntity = destination
      guard let inverseName = child.attributes["inverseName"] else { continue }
      guard let inverse = destination.relationshipsByName[inverseName] else {
        throw error(
          entityName, name, "has the inverse \(destinationName).\(inverseName), which does not exist")
      }
      relationship.inverseRelationship = inverse
    }
  }
}
