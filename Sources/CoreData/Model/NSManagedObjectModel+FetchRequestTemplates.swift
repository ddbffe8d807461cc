extension NSManagedObjectModel {
  /// The fetch requests that the model holds, by name. Copy one before changing it.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] { fetchRequestTemplates }

  /// The fetch request of a name, as the model holds it. Copy it before changing it.
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    fetchRequestTemplates[name]
  }

  /// A copy of the fetch request of a name, with values for the variables (`$NAME`) in its predicate.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any]
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    let copy = fetchRequestTemplates[name]?.copy() as? NSFetchRequest<any NSFetchRequestResult>
    copy?.predicate = copy?.predicate?.withSubstitutionVariables(variables)
    return copy
  }

  /// Keeps a fetch request under a name; nil removes it. Its entity must be the model's.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    checkEditable()
    fetchRequestTemplates[name] = fetchRequestTemplate
  }

  /// Copies another model's templates, for this model's entities.
  func addFetchRequestTemplates(of other: NSManagedObjectModel) {
    let byName = entitiesByName
    for (name, template) in other.fetchRequestTemplates where fetchRequestTemplates[name] == nil {
      guard let copy = template.copy() as? NSFetchRequest<any NSFetchRequestResult> else { continue }
      if let entityName = template.entityName, let entity = byName[entityName] { copy.entity = entity }
      fetchRequestTemplates[name] = copy
    }
  }
}
