extension ModelReader {
  /// Gives an entity its fetch indexes, uniqueness constraints and compound indexes.
  ///
  /// Files of Apple's framework show two SQL indexes for one fetch index over a single attribute: its compiler adds a
  /// second one, named like the attribute. They are added here too, so that a store made here has the same indexes as
  /// one made on a Mac, and either program finds what it expects. Neither counts in a version hash.
  func readIndexes(_ element: ModelEntity, into entity: NSEntityDescription) throws(ManagedObjectModelError) {
    var indexes: [NSFetchIndexDescription] = []
    for node in element.node.children(named: "fetchIndex") {
      indexes.append(try index(node, of: element.name))
    }
    // Xcode's model compiler also marks an attribute as indexed if it has a fetch index to itself, and gives it a
    // second one of its own name. Not so for a partial index, which leaves rows out.
    for index in indexes where index.elements.count == 1 && index.partialIndexPredicate == nil {
      guard let name = index.elements[0].propertyName,
        let attribute = entity.declaredProperties.first(where: { $0.name == name }) as? NSAttributeDescription
      else { continue }
      attribute.isIndexed = true
      guard !indexes.contains(where: { $0.name == name }) else { continue }
      indexes.append(
        NSFetchIndexDescription(
          name: name, elements: [NSFetchIndexElementDescription(propertyName: name, collationType: .binary)]))
    }
    entity.indexes = indexes
    entity.uniquenessConstraints = element.lists.uniquenessConstraints
    entity.compoundIndexes = element.lists.compoundIndexes
  }

  /// A fetch index with its elements. An element names a property, or has an expression, which SQLite stores leave out.
  private func index(
    _ node: ModelNode, of entityName: String
  ) throws(ManagedObjectModelError) -> NSFetchIndexDescription {
    let indexName = node.attributes["name"] ?? ""
    var elements: [NSFetchIndexElementDescription] = []
    for elementNode in node.children(named: "fetchIndexElement") {
      let collation: NSFetchIndexElementType = elementNode.attributes["type"] == "RTree" ? .rTree : .binary
      let element: NSFetchIndexElementDescription
      if let name = elementNode.attributes["property"] {
        element = NSFetchIndexElementDescription(propertyName: name, collationType: collation)
      } else {
        let computed = NSExpressionDescription()
        computed.name = "expression"
        computed.expression = try expression(
          elementNode.attributes["expression"] ?? "", at: elementNode, entity: entityName, property: indexName)
        element = NSFetchIndexElementDescription(property: computed, collationType: collation)
      }
      element.isAscending = elementNode.attributes["order"] != "descending"
      elements.append(element)
    }
    let index = NSFetchIndexDescription(name: indexName, elements: elements)
    if let text = node.attributes["partialIndexPredicate"] {
      index.partialIndexPredicate = try predicate(
        text, at: node, entity: entityName, in: "the fetch index \(indexName)")
    }
    return index
  }
}
