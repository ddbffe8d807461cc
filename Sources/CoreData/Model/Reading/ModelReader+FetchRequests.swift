extension ModelReader {
  /// Gives the fetched properties of an entity their requests.
  ///
  /// It is done last, since a request refers to an entity, which may be any of the model's.
  ///
  /// - Parameters:
  ///   - element: the entity in the file.
  ///   - entity: its description, which has its properties already.
  func connectFetchedProperties(
    _ element: ModelEntity, of entity: NSEntityDescription, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    for property in element.properties {
      guard case .fetched(let request?) = property.kind,
        let description = entity.propertiesByName[property.name] as? NSFetchedPropertyDescription
      else { continue }
      description.fetchRequest = try fetchRequest(request, of: element.name, name: property.name, entities: byName)
    }
  }

  /// The request of a model file. Settings that the file leaves out keep the defaults of `NSFetchRequest`.
  ///
  /// - Parameters:
  ///   - element: the request in the file. `ModelDocument` has checked that its entity exists.
  ///   - owner: the entity of a fetched property, for errors; nil for a template.
  ///   - name: the template's or the property's name, for errors.
  /// - Returns: a request whose predicate may have variables, `$PAGES` or `$FETCH_SOURCE`.
  func fetchRequest(
    _ element: ModelFetchRequest, of owner: String?, name: String, entities byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = byName[element.entityName]
    request.predicate = try element.predicate.map { text throws(ManagedObjectModelError) in
      try predicate(text, at: element.node, entity: owner, in: "the fetch request \(name)")
    }
    if let resultType = element.numbers["resultType"] {
      request.resultType = NSFetchRequestResultType(rawValue: UInt(max(resultType, 0)))
    }
    request.fetchLimit = element.numbers["fetchLimit"] ?? 0
    request.fetchBatchSize = element.numbers["fetchBatchSize"] ?? 0
    request.includesSubentities = element.flag("includeSubentities") ?? request.includesSubentities
    request.includesPropertyValues = element.flag("includePropertyValues") ?? request.includesPropertyValues
    request.includesPendingChanges = element.flag("includesPendingChanges") ?? request.includesPendingChanges
    request.returnsObjectsAsFaults = element.flag("returnObjectsAsFaults") ?? request.returnsObjectsAsFaults
    request.returnsDistinctResults = element.flag("returnDistinctResults") ?? request.returnsDistinctResults
    return request
  }
}
