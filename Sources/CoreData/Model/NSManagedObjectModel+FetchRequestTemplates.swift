extension NSManagedObjectModel {
  /// The model's fetch requests, by name. They are the model's own objects: copy one before you change it.
  ///
  /// Xcode's editor makes them, and `setFetchRequestTemplate(_:forName:)`.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] { fetchRequestTemplates }

  /// The model's own fetch request of a name; nil for an unknown name. Copy it before you change it.
  ///
  /// A template whose predicate has no variables can be copied and executed:
  ///
  /// ```swift
  /// let copy = model.fetchRequestTemplate(forName: "unread")?.copy() as? NSFetchRequest<any NSFetchRequestResult>
  /// copy?.fetchLimit = 20
  /// ```
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    fetchRequestTemplates[name]
  }

  /// A copy of the fetch request of a name, with values for the variables (`$NAME`) of its predicate; nil for an
  /// unknown name.
  ///
  /// ```swift
  /// let request = model.fetchRequestFromTemplate(withName: "longBooks", substitutionVariables: ["PAGES": 500])
  /// ```
  ///
  /// A variable that gets no value stays in the predicate, and the fetch throws 134070. The result may be changed; it
  /// has the type `NSFetchRequest<any NSFetchRequestResult>`, so cast the objects that it fetches.
  ///
  /// - Parameters:
  ///   - name: the template's name.
  ///   - variables: the values by the variables' names without `$`, as in the model editor.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any]
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    let copy = fetchRequestTemplates[name]?.copy() as? NSFetchRequest<any NSFetchRequestResult>
    copy?.predicate = copy?.predicate?.withSubstitutionVariables(variables)
    return copy
  }

  /// Keeps a fetch request under a name; nil removes it. Its entity must be one of this model. Traps once a coordinator
  /// uses the model.
  ///
  /// ```swift
  /// if let model = model.copy() as? NSManagedObjectModel {
  ///   let long = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
  ///   long.predicate = NSPredicate(format: "pages > $PAGES")
  ///   model.setFetchRequestTemplate(long, forName: "longBooks")
  /// }
  /// ```
  ///
  /// Templates are no part of version hashes: changing one needs no migration.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    checkEditable()
    fetchRequestTemplates[name] = fetchRequestTemplate
  }

  /// Copies another model's templates and makes them fetch this model's entities.
  ///
  /// A template that this model already has under the name stays.
  func addFetchRequestTemplates(of other: NSManagedObjectModel) {
    let byName = entitiesByName
    for (name, template) in other.fetchRequestTemplates where fetchRequestTemplates[name] == nil {
      guard let copy = template.copy() as? NSFetchRequest<any NSFetchRequestResult> else { continue }
      if let entityName = template.entityName, let entity = byName[entityName] { copy.entity = entity }
      fetchRequestTemplates[name] = copy
    }
  }
}
