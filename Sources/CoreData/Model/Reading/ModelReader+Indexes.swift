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
      guard let name = elementNode.attributes["property"] else {
        throw error(
          entity.name, "has the fetch index \(indexName) over an expression, which is not supported")
      }
      guard entity.propertiesByName[name] != nil else {
        throw error(entity.name, "has the fetch index \(indexName) over \(name), which does not exist")
      }
      let element = NSFetchIndexElementDescription(
        propertyName: name, collationType: elementNode.attributes["type"] == "RTree" ? .rTree : .binary)
      element.isAscending = elementNode.attributes["order"] != "descending"
      elements.append(element)
    }
    return NSFetchIndexDescription(name: indexName, elements: elements)
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
