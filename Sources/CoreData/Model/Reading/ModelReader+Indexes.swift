extension ModelReader {
  func readIndexes(_ node: ModelNode, into entity: NSEntityDescription) throws(ManagedObjectModelError) {
    var indexes: [NSFetchIndexDescription] = []
    for indexNode in node.children(named: "fetchIndex") {
      indexes.append(try index(indexNode, of: entity))
    }
    entity.indexes = indexes
    // The model compiler marks an attribute that has a fetch index to itself as indexed too.
    for index in indexes where index.elements.count == 1 {
      (index.elements[0].property as? NSAttributeDescription)?.isIndexed = true
    }
    entity.uniquenessConstraints = try lists(
      node, "uniquenessConstraints", "uniquenessConstraint", "constraint", of: entity)
    entity.compoundIndexes = try lists(node, "compoundIndexes", "compoundIndex", "index", of: entity)
  }

  private func index(
    _ node: ModelNode, of entity: NSEntityDescription
  ) throws(ManagedObjectModelError) -> NSFetchIndexDescription {
    let indexName = node.attributes["name"] ?? ""
    var elements: [NSFetchIndexElementDescription] = []
    for elementNode in node.children(named: "fetchIndexElement") {
      let collation: NSFetchIndexElementType = elementNode.attributes["type"] == "RTree" ? .rTree : .binary
      let element: NSFetchIndexElementDescription
      if let name = elementNode.attributes["property"] {
        guard entity.propertiesByName[name] != nil else {
          throw error(entity.name, "has the fetch index \(indexName) over \(name), which does not exist")
        }
        element = NSFetchIndexElementDescription(propertyName: name, collationType: collation)
      } else {
        let computed = NSExpressionDescription()
        computed.name = "expression"
        computed.expression = try expression(elementNode.attributes["expression"] ?? "", entity.name ?? "", indexName)
        element = NSFetchIndexElementDescription(property: computed, collationType: collation)
      }
      element.isAscending = elementNode.attributes["order"] != "descending"
      elements.append(element)
    }
    let index = NSFetchIndexDescription(name: indexName, elements: elements)
    if let text = node.attributes["partialIndexPredicate"] {
      index.partialIndexPredicate = try predicate(text, entity.name, "the fetch index \(indexName)")
    }
    return index
  }

  /// Lists of property names, such as uniqueness constraints: a group of lists of items with a "value" each.
  private func lists(
    _ node: ModelNode, _ group: String, _ list: String, _ item: String, of entity: NSEntityDescription
  ) throws(ManagedObjectModelError) -> [[String]] {
    var lists: [[String]] = []
    for listNode in node.children(named: group).flatMap({ $0.children(named: list) }) {
      let names = listNode.children(named: item).compactMap { $0.attributes["value"] }
      for name in names where entity.propertiesByName[name.prefix { $0 != "." }.description] == nil {
        throw error(entity.name, "has a \(list) over \(name), which does not exist")
      }
      lists.append(names)
    }
    return lists
  }
}
