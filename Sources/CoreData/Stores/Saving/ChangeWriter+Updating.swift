/// Changed rows, in groups of those that change the same properties.
extension ChangeWriter {
  /// Rows that change unique values are written by themselves, since they may take those that another row of the save
  /// gives up.
  ///
  /// ```text
  /// changed rows                             groups
  /// Book 1: pages                            {pages} of Book: 1, 3, 4
  /// Book 2: title (unique)                   written at once, by itself
  /// Book 3, Book 4: pages
  /// Book 5: pages, isRead                    {isRead, pages} of Book: 5
  /// ```
  ///
  /// A group is written when it is full, the partial ones at the end: the order of updates among each other does not
  /// matter, because rows with unique values are not in groups.
  package func writeUpdates() throws {
    // In a property each use would be checked for overlaps, and a copied row would be counted.
    let updated = changes.updated
    if updated.isEmpty { return }
    var versions = [Int64](repeating: 0, count: updated.count)
    var groups = UpdateGroups(size: updateGroupSize)
    var refused: [(row: Int, kind: UpdateKind)] = []
    // Rows of one entity mostly follow each other.
    var storedEntity = updated[0].storedEntity
    var properties = properties(storedEntity)
    for index in updated.indices {
      if updated[index].storedEntity !== storedEntity {
        storedEntity = updated[index].storedEntity
        properties = self.properties(storedEntity)
      }
      var (changed, isRead) = (StepSet(), false)
      if let base = updated[index].base, let values = updated[index].values {
        changed = properties.changed(base, values)
        isRead = true
        versions[index] = base.version
      }
      if changed.isEmpty && updated[index].members.isEmpty { continue }
      if isRead { versions[index] = versions[index].nextVersion }
      let kind = UpdateKind(storedEntity: storedEntity, changed: changed, isRead: isRead)
      if changed.isDisjoint(with: properties.unique) {
        if let full = groups.add(index, to: kind) { try update(full, kind) }
      } else if try updateUnique(index, kind) != nil {
        refused.append((index, kind))
      }
    }
    progress.saved.versions = versions
    for group in groups.partial { try update(group.rows, group.kind) }
    try exchangeUniqueValues(of: refused)
  }

  /// Repeats the updates that wanted a unique value that another row had at that moment, such as two rows that exchange
  /// theirs: through a state in which neither has one.
  ///
  /// Three rows may pass their values on in a circle: all refused ones are cleared first, then all are written. What is
  /// refused now is a real violation.
  private func exchangeUniqueValues(of rows: [(row: Int, kind: UpdateKind)]) throws {
    for (row, kind) in rows { try clearUnique(row, kind) }
    for (row, kind) in rows {
      if let message = try updateUnique(row, kind) { progress.reject(.updated(row), message) }
    }
  }
}

/// Updated rows that wait for more of the same kind.
private struct UpdateGroups {
  private let size: Int
  /// The group of the row before, which mostly is that of the next one, too.
  private var kind: UpdateKind?
  private var rows: [Int] = []
  /// The other groups.
  private var others: [UpdateKind: [Int]] = [:]

  package init(size: Int) { self.size = size }

  /// Adds a row. Returns the rows of its group if that is full, and begins a new one.
  package mutating func add(_ row: Int, to kind: UpdateKind) -> [Int]? {
    if self.kind != kind {
      if let former = self.kind { others[former] = rows }
      rows = others.removeValue(forKey: kind) ?? []
      self.kind = kind
    }
    rows.append(row)
    guard rows.count == size else { return nil }
    defer { rows = [] }
    return rows
  }

  /// The groups that are not full, in the order of the entities' numbers.
  package var partial: [(kind: UpdateKind, rows: [Int])] {
    var groups = others.map { (kind: $0.key, rows: $0.value) }
    if let kind { groups.append((kind, rows)) }
    return groups.filter { !$0.rows.isEmpty }.sorted { one, other in
      (one.kind.storedEntity.number, one.rows[0]) < (other.kind.storedEntity.number, other.rows[0])
    }
  }
}
