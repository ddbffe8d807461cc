extension ModelReader {
  func readFetchRequestTemplates(
    into model: NSManagedObjectModel, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    for node in document.children(named: "fetchRequest") {
      let name = node.attributes["name"] ?? ""
      model.setFetchRequestTemplate(try fetchRequest(node, nil, name, byName), forName: name)
    }
  }

  /// Gives the fetched properties of an entity their requests.
  func connectFetchedProperties(
    _ node: ModelNode, of entity: NSEntityDescription, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    for child in node.children(named: "fetchedProperty") {
      let name = child.attributes["name"] ?? ""
      guard let property = entity.propertiesByName[name] as? NSFetchedPropertyDescription,
        let requestNode = child.children(named: "fetchRequest").first
      else { continue }
      property.fetchRequest = try fetchRequest(requestNode, entity.name, name, byName)
    }
  }

  /// What a request does not say keeps its default.
  private func fetchRequest(
    _ node: ModelNode, _ owner: String?, _ name: String, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) -> NSFetchRequest<any NSFetchRequestResult> {
    let entityName = node.attributes["entity"] ?? ""
    guard let entity = byName[entityName] else {
      throw error(owner, name, "fetches the entity \(entityName), which does not exist")
    }
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = entity
    request.predicate = try node.attributes["predicateString"].map { text throws(ManagedObjectModelError) in
      try predicate(text, owner, "the fetch request \(name)")
    }
    if let resultType = try number("resultType", of: node, owner, name) {
      request.resultType = NSFetchRequestResultType(rawValue: UInt(max(resultType, 0)))
    }
    request.fetchLimit = try number("fetchLimit", of: node, owner, name) ?? 0
    request.fetchBatchSize = try number("fetchBatchSize", of: node, owner, name) ?? 0
    request.includesSubentities = flag("includeSubentities", of: node, request.includesSubentities)
    request.includesPropertyValues = flag("includePropertyValues", of: node, request.includesPropertyValues)
    request.includesPendingChanges = flag("includesPendingChanges", of: node, request.includesPendingChanges)
    request.returnsObjectsAsFaults = flag("returnObjectsAsFaults", of: node, request.returnsObjectsAsFaults)
    request.returnsDistinctResults = flag("returnDistinctResults", of: node, request.returnsDistinctResults)
    return request
  }

  private func flag(_ key: String, of node: ModelNode, _ standard: Bool) -> Bool {
    node.attributes[key].map { $0 == "YES" } ?? standard
  }

  private func number(
    _ key: String, of node: ModelNode, _ owner: String?, _ name: String
  ) throws(ManagedObjectModelError) -> Int? {
    guard let text = node.attributes[key] else { return nil }
    guard let number = Int(text) else {
      throw error(owner, name, "has the \(key) \"\(text)\", which is no number")
    }
    return number
  }
}
