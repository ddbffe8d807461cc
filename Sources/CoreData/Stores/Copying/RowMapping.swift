/// Makes rows of a new model from rows of an old one, as an inferred mapping says.
///
/// `StoreMigration` does the same in SQL for a file in place. This one works on rows in memory, for stores of any
/// class.
package struct RowMapping {
  private let inferred: InferredMapping

  /// - Throws: 134190 (`inferredMappingModel`) if no mapping can be inferred.
  package init(from sources: [NSEntityDescription], to destinations: [NSEntityDescription]) throws {
    inferred = try InferredMapping(from: sources, to: destinations)
    inferred.writeWarnings()
  }

  /// The name of the entity that an old one became; nil for one that is gone.
  func destinationName(of source: NSEntityDescription) -> String? { inferred.renamed[source.name ?? ""] }

  /// The old counterpart of a new relationship; nil for one that is new.
  func source(of relationship: NSRelationshipDescription, _ entity: String) -> NSRelationshipDescription? {
    inferred.byDestination[entity]?.relationships[relationship.name]
  }

  /// The attributes of a new row. One that is new, or is mandatory now and had no value, gets its default value.
  ///
  /// It begins with the new model's defaults. A value of the same type is copied as it lies in the slot; another one is
  /// converted as key-value coding would. What cannot be converted, or was nil, is nil in an optional attribute and the
  /// default in a mandatory one.
  func attributes(of old: Snapshot, _ layout: EntityLayout) -> Snapshot {
    let new = layout.defaults.copy()
    let sources = inferred.byDestination[layout.name]?.attributes ?? [:]
    for (slot, description) in layout.slots.enumerated() {
      guard let attribute = description.attribute, !attribute.isTransient,
        let was = sources[attribute.name], let oldSlot = old.layout.slot(was.name)
      else { continue }
      if !old.isNil(oldSlot), new.assign(slot: slot, from: old, at: oldSlot) { continue }
      if let value = value(old.value(oldSlot), attribute, was), new.assignConverted(value, slot: slot) { continue }
      if attribute.isOptional { new.setNil(slot) }
    }
    return new
  }

  private func value(_ old: Any?, _ attribute: NSAttributeDescription, _ was: NSAttributeDescription) -> Any? {
    guard let composite = attribute as? NSCompositeAttributeDescription,
      let oldComposite = was as? NSCompositeAttributeDescription, let elements = old as? [String: Any]
    else { return old }
    return self.elements(elements, composite, oldComposite)
  }

  /// The elements of a composite value. A mandatory element without a value gets its default value.
  private func elements(
    _ old: [String: Any], _ composite: NSCompositeAttributeDescription, _ was: NSCompositeAttributeDescription
  ) -> [String: Any] {
    composite.elements.reduce(into: [:]) { elements, element in
      let source = InferredMapping.path([element.name], of: composite, in: was)?.first.flatMap(was.element)
      let convertedValue = source.flatMap { value(old[$0.name], element, $0) }
      elements[element.name] = convertedValue ?? (element.isOptional ? nil : element.initialValue)
    }
  }
}
