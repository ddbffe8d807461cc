/// Cuts results into sections.
///
/// Three ways, the cheapest that is possible: the cache of sections of a former run (`SectionCache`), counts by the
/// store (`countedSections`), or the name of each row. Each gives names and lengths; the rows are sorted already, so a
/// section is a slice.
extension FetchedResults {
  /// The sections of sorted rows. Throws 134060 if the rows of a section are not together.
  ///
  /// O(n) names in the worst case. Rows of one section mostly follow each other with equal values, which are compared
  /// in their slots, without making the name.
  func sections(of sortedRows: [AnyObject], _ settings: FetchSettings) throws -> [FetchedSection] {
    guard sectionNameKeyPath != nil else { return [FetchedSection(name: "", rows: sortedRows, results: self)] }
    if let counted = countedSections(settings), let sections = slices(of: sortedRows, counted) { return sections }
    var sections: [FetchedSection] = []
    var names: Set<String> = []
    var start = 0
    while start < sortedRows.count {
      let name = sectionName(of: sortedRows[start])
      guard names.insert(name).inserted else {
        throw CoreDataErrors.error(
          .coreData,
          "The fetched object at index \(start) has the section name \"\(name)\" out of order: the first sort "
            + "descriptor has to put objects into the order of their sections.")
      }
      var end = start + 1
      while end < sortedRows.count,
        isOfOneSection(sortedRows[end - 1], sortedRows[end]) || sectionName(of: sortedRows[end]) == name
      {
        end += 1
      }
      sections.append(FetchedSection(name: name, rows: sortedRows[start..<end], results: self))
      start = end
    }
    return sections
  }

  /// Throws 134060 if the section key path begins with, or leads to, a property that the entity does not have.
  ///
  /// Before the fetch, so that a misspelt name is an error and does not end the process at the first row. A property of
  /// a subentity is allowed, since rows may be of it.
  func checkSectionKeyPath(_ settings: FetchSettings) throws {
    guard let sectionNameKeyPath, settings.resultType == .managedObjectResultType else { return }
    var entity = settings.entity ?? NSEntityDescription.entity(forEntityName: settings.entityName ?? "", in: context)
    for key in KeyPathComponents(sectionNameKeyPath).keys {
      guard let current = entity else { return }
      guard let property = current.propertyInHierarchy(key) else {
        if key.hasPrefix("@") || NSManagedObject.unmodelledKeys.contains(key) || current.layout.computes(key) { return }
        throw CoreDataErrors.error(
          .coreData,
          "The section name key path \"\(sectionNameKeyPath)\" of the fetched results controller cannot be followed: "
            + "\(current.name ?? "") has no property \"\(key)\".")
      }
      entity = (property as? NSRelationshipDescription)?.destinationEntity
    }
  }

  /// The row is a managed object or a dictionary: the groups of `countedSections` get their names here too, so both
  /// ways agree.
  func sectionName(of row: AnyObject) -> String {
    guard let sectionNameKeyPath else { return "" }
    let object = row as? NSManagedObject
    let value: Any?
    if let object, object.layout.locations[sectionNameKeyPath] != nil {
      // One key needs no path to be parsed.
      value = object.value(forKey: sectionNameKeyPath)
    } else {
      value =
        object?.value(forKeyPath: sectionNameKeyPath)
        ?? KeyValueReading.value(at: KeyPathComponents(sectionNameKeyPath).keys, of: row)
    }
    return switch value {
    case nil: ""
    case let text as String: text
    case let number as NSNumber: number.stringValue
    case let value?: String(describing: value)
    }
  }

  /// Whether two rows have equal values under the section's key, compared without building the names.
  ///
  /// Equal values have equal names. Different values may have equal names too, such as nil and the empty text, so the
  /// caller then compares names.
  private func isOfOneSection(_ first: AnyObject, _ second: AnyObject) -> Bool {
    guard let sectionNameKeyPath, let first = first as? NSManagedObject, let second = second as? NSManagedObject,
      first.layout === second.layout, !first.layout.classReadsValues, let slot = first.layout.slot(sectionNameKeyPath)
    else { return false }
    return first.access().isEqual(second.access(), slot: slot)
  }

  /// The rows cut into sections of the given lengths; nil if the lengths do not add up.
  ///
  /// The sum is the only check that is possible without reading each row. It fails if a row was written between the
  /// count and the fetch.
  func slices(of sortedRows: [AnyObject], _ counts: [(name: String, count: Int)]) -> [FetchedSection]? {
    guard counts.reduce(0, { $0 + $1.count }) == sortedRows.count else { return nil }
    var start = 0
    return counts.map { name, count in
      defer { start += count }
      return FetchedSection(name: name, rows: sortedRows[start..<(start + count)], results: self)
    }
  }

  /// Names and lengths of the sections, counted by the store, so that a fetch in batches need not read each row for its
  /// section name.
  ///
  /// Nil if the store cannot count them: with unsaved changes, several stores, a limit or offset, or sections by
  /// anything but the first sorted attribute.
  ///
  /// For "kind" it is something like
  ///
  /// ```text
  /// SELECT t0.ZKIND, COUNT(t0.Z_PK) FROM ZBOOK t0 WHERE … GROUP BY t0.ZKIND ORDER BY t0.ZKIND
  /// ```
  ///
  /// Only a plain first sort descriptor will do: with a selector such as `localizedStandardCompare:` values that are
  /// equal for the order are several groups.
  private func countedSections(_ settings: FetchSettings) -> [(name: String, count: Int)]? {
    guard settings.fetchBatchSize > 0, settings.fetchLimit == 0, settings.fetchOffset == 0,
      settings.resultType == .managedObjectResultType, context.parent == nil, !context.hasChanges,
      stores(for: settings).count == 1, let path = sectionNameKeyPath, let first = settings.sortDescriptors?.first,
      first.key == path, first.selector == nil, !first.hasComparator,
      let entity = settings.entity ?? NSEntityDescription.entity(forEntityName: settings.entityName ?? "", in: context),
      let attribute = entity.attributesByName[path], !attribute.isTransient
    else { return nil }
    let count = NSExpressionDescription()
    count.name = "count"
    count.expression = NSExpression(format: "count:(SELF)")
    count.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSDictionary>(settings)
    request.resultType = .dictionaryResultType
    request.fetchBatchSize = 0
    request.sortDescriptors = [first]
    request.propertiesToFetch = [path, count]
    request.propertiesToGroupBy = [path]
    // If the store cannot count, the names are read from the rows.
    guard let groups = try? context.fetch(request) else { return nil }
    return groups.compactMap { group in
      guard let count = group["count"] as? Int else { return nil }
      return (sectionName(of: group), count)
    }
  }
}

extension NSEntityDescription {
  /// The property of the entity or of one of its subentities, whose objects may be among the results.
  ///
  /// Depth first; the names of properties are unique in one line of inheritance only.
  fileprivate func propertyInHierarchy(_ name: String) -> NSPropertyDescription? {
    propertiesByName[name] ?? subentities.lazy.compactMap { $0.propertyInHierarchy(name) }.first
  }
}
