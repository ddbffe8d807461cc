/// An index by which fetches find the rows of an entity, as its model asks for it.
package struct FetchIndex {
  package let name: String
  package let columns: [(column: String, isAscending: Bool)]
  /// What holds for the rows in a partial index, all of it; empty for an index with all rows.
  package let conditions: [String]
  /// Whether it is a fetch index, and not an attribute's or a compound index of older models.
  package let isDescribed: Bool
}

extension TableMapping {
  /// The indexes that the entity asks for, besides those of each relationship and of unique values.
  ///
  /// Three generations of the model editor say the same in three ways: the flag `indexed` of an attribute, compound
  /// indexes, and fetch indexes. A fetch index over the same properties makes the older forms superfluous here. A
  /// partial one does not: it lacks rows.
  package var fetchIndexes: [FetchIndex] {
    let declared = Set(entity.declaredProperties.map(\.name))
    // What older models say about attributes, and newer ones repeat, is no second index.
    let indexed = Set(
      entity.indexes.filter { $0.partialIndexPredicate == nil }.map { $0.elements.compactMap(\.propertyName) })
    let attributes = entity.attributesByName.values.sorted(onBytes: { $0.name })
      .filter { $0.isIndexed && declared.contains($0.name) }.map { [$0.name] }
    let older = (attributes + entity.compoundIndexes.map(entity.names(of:))).filter { !indexed.contains($0) }
    let indexes = older.map { names in
      FetchIndex(
        name: names.joined(separator: "_"), columns: columns(of: names).map { ($0, true) }, conditions: [],
        isDescribed: false)
    }
    return (indexes + entity.indexes.compactMap(fetchIndex)).filter { !$0.columns.isEmpty }
  }

  /// Elements of the collation type R-tree are left out: an R-tree is a table of its own in SQLite
  /// (https://www.sqlite.org/rtree.html), and no file of Apple's with one was seen.
  private func fetchIndex(_ index: NSFetchIndexDescription) -> FetchIndex? {
    let elements = index.elements.filter { $0.collationType == .binary }
    // A single relationship has an index already.
    guard elements.count > 1 || elements.contains(where: { attributes[$0.propertyName ?? ""] != nil }) else {
      return nil
    }
    let list = elements.flatMap { element in
      columns(of: [element.propertyName ?? ""]).map { ($0, element.isAscending) }
    }
    let conditions = index.partialIndexPredicate.map(partialConditions) ?? []
    return FetchIndex(name: index.name, columns: list, conditions: conditions, isDescribed: true)
  }

  /// The comparisons of attributes with nil that have to hold, alone or joined by AND.
  ///
  /// A database uses a partial index only if the query's condition implies the index's, and knows nothing of bound
  /// values (https://www.sqlite.org/partialindex.html, "Queries Using Partial Indexes"). A comparison with nil binds
  /// none. Other parts are left out: the index holds more rows then, which serves any query.
  ///
  /// ```text
  /// partialIndexPredicate                    condition of the index
  /// title != nil                             ZTITLE IS NOT NULL
  /// title != nil AND isRead == NO            ZTITLE IS NOT NULL        isRead is left out: the index has more rows
  /// title != nil OR isRead == NO             none                      an OR cannot be weakened by leaving out a part
  /// ```
  private func partialConditions(_ predicate: NSPredicate) -> [String] {
    switch predicate.kind {
    case .compound(.and, let parts): parts.flatMap(partialConditions)
    case .comparison(let comparison): [nullCondition(comparison)].compactMap(\.self)
    default: []
    }
  }

  private func nullCondition(_ comparison: NSComparisonPredicate) -> String? {
    let (left, right) = (comparison.leftExpression, comparison.rightExpression)
    guard left.expressionType == .keyPath, let column = columns(of: [left.keyPath]).first,
      right.expressionType == .constantValue, right.constantValue == nil
    else { return nil }
    switch comparison.predicateOperatorType {
    case .equalTo: return "\(column) IS NULL"
    case .notEqualTo: return "\(column) IS NOT NULL"
    default: return nil
    }
  }
}
