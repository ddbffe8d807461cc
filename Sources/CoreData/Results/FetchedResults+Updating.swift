/// Applies changes to the rows and tells the delegate.
///
/// The steps of `update`, on an example with rows A C E G sorted by letter, where C becomes H, B is new and E is
/// deleted:
///
/// ```text
/// sorted      leaving [E]   staying [C→H]   entering [B]
/// remove      A C G                          E leaves
/// takeOut     A G             moving [H]     H is out of order with its next, G
/// putIn       A B G H                        both are inserted at their places
/// note        delete E at 2, insert B at 1, move C from 1 to 3
/// ```
///
/// Old index paths are taken before the first removal, new ones after the last insertion: that is what delegates
/// expect.
extension FetchedResults {
  /// A row of the results as it was before the changes.
  ///
  /// The path is of the moment before all changes, and goes to the delegate as it is.
  struct PlacedRow {
    let row: AnyObject
    let section: FetchedSection
    let path: IndexPath
  }

  /// Inserts, deletes, moves and reports rows. Only the touched rows are compared with others.
  ///
  /// Early exits come first: if no touched row leaves, moves or changed, the delegate is not called. A delegate of the
  /// snapshot form gets one after the rows are in place. For one whose form is unknown a copy of the rows is kept,
  /// because `controllerWillChangeContent` is promised to come before they change.
  ///
  /// O(touched × (log n + 512)) comparisons and moves of rows, plus O(n) where the whole is needed: a snapshot, or the
  /// table of places at the first time.
  ///
  /// - Parameters:
  ///   - touched: the rows that may have to move or go, each once.
  ///   - changed: those of them to report as updated. The others are touched because objects behind them changed.
  ///   - order: the order of all rows. Untouched rows are in this order.
  func update(
    _ touched: [AnyObject], changed: Set<ObjectIdentifier>, order: RowOrder, isResult: (AnyObject) -> Bool
  ) {
    guard let delegate, let controller else { return }
    let (leaving, staying, entering) = sorted(touched, isResult)
    for row in entering {
      require(isOfResultClass(row), "\(row) matches the request of a fetched results controller for another class.")
    }
    for row in entering + staying.map(\.row) { holdRelated(of: row) }
    let concerns =
      !leaving.isEmpty || !entering.isEmpty
      || staying.contains { changed.contains(ObjectIdentifier($0.row)) || !isInPlace($0, order) }
    guard concerns else { return }

    if delegateTakesSnapshots {
      for placedRow in leaving { rows.remove(placedRow.row) }
      putIn(takeOut(staying, order).map(\.row) + entering, order)
      rows.number()
      return tellSnapshot(changed: changed)
    }

    let type = ObjectIdentifier(Swift.type(of: delegate))
    let answer = sectionNameKeyPath != nil ? false : takesDifferences?.type == type ? takesDifferences?.answer : nil
    let before = answer == nil ? rows.copy(for: self) : nil
    if answer == false { delegate.controllerWillChangeContent(controller) }

    let oldSections = rows.sections
    for placedRow in leaving { rows.remove(placedRow.row) }
    let moving = takeOut(staying, order)
    putIn(moving.map(\.row) + entering, order)
    var changes = FetchedChanges()
    changes.note(sectionsBefore: oldSections, after: rows.sections)
    rows.number()
    changes.note(
      leaving: leaving, entering: entering, moving: moving, staying: staying, changed: changed, rows: &rows)

    if answer != false {
      differenceWasIgnored = false
      delegate.controller(controller, didChangeContentWith: changes.difference)
      takesDifferences = (type, !differenceWasIgnored)
      guard differenceWasIgnored else { return }
      if let before {
        // Only now is it known that this delegate implements the calls, which come before the rows change.
        let after = rows
        rows = before
        delegate.controllerWillChangeContent(controller)
        rows = after
      }
    }
    changes.tell(delegate, controller)
    delegate.controllerDidChangeContent(controller)
  }

  /// What becomes of touched rows.
  ///
  /// `isResult` is asked once for each row: it evaluates the predicate.
  private func sorted(
    _ touched: [AnyObject], _ isResult: (AnyObject) -> Bool
  ) -> (leaving: [PlacedRow], staying: [PlacedRow], entering: [AnyObject]) {
    var leaving: [PlacedRow] = []
    var staying: [PlacedRow] = []
    var entering: [AnyObject] = []
    for row in touched {
      let place = rows.place(of: row)
      let isResult = isResult(row)
      guard let place else {
        if isResult { entering.append(row) }
        continue
      }
      let path = IndexPath(item: place.index, section: place.section.position)
      let placedRow = PlacedRow(row: row, section: place.section, path: path)
      if isResult { staying.append(placedRow) } else { leaving.append(placedRow) }
    }
    return (leaving, staying, entering)
  }

  /// Whether a row is in the right section and in order with its neighbours.
  ///
  /// Two comparisons with neighbours, not a search.
  private func isInPlace(_ placedRow: PlacedRow, _ order: RowOrder) -> Bool {
    sectionName(of: placedRow.row) == placedRow.section.name && isInOrder(placedRow.row, order)
  }

  private func isInOrder(_ row: AnyObject, _ order: RowOrder) -> Bool {
    let (previous, next) = outOfOrder(row, order)
    return previous == nil && next == nil
  }

  /// The neighbours of a row that belong on its other side.
  ///
  /// A row's keys are computed again for each neighbour: there are two, and the values are in memory.
  private func outOfOrder(_ row: AnyObject, _ order: RowOrder) -> (previous: AnyObject?, next: AnyObject?) {
    let (previous, next) = rows.neighbours(of: row)
    let keys = order.keys(of: row)
    return (
      previous.flatMap { order.isAfter(order.keys(of: $0), keys) ? $0 : nil },
      next.flatMap { order.isAfter(keys, order.keys(of: $0)) ? $0 : nil }
    )
  }

  /// Removes rows that are out of order until the rest is in order. Returns the removed ones.
  ///
  /// After a change of several neighbours it cannot be told from the order which of two rows moved:
  ///
  /// ```text
  /// before   A B C D      B becomes Z, C becomes Y
  /// rows     A Z Y D      Z > Y: both are out; Y > D: out as well
  /// taken    [Z, Y]       the rest, A D, is in order
  /// ```
  ///
  /// A row that is taken out although it had not moved comes back to its place, and `FetchedChanges.returned` sees that
  /// it did not move. The rows around a gap are neighbours now and are compared again (`waiting`), until nothing is out
  /// of order.
  ///
  /// Only touched rows are taken out: untouched ones are in order among themselves.
  private func takeOut(_ staying: [PlacedRow], _ order: RowOrder) -> [PlacedRow] {
    var moving: [PlacedRow] = []
    var kept: [ObjectIdentifier: PlacedRow] = [:]
    for placedRow in staying {
      if sectionName(of: placedRow.row) == placedRow.section.name {
        kept[ObjectIdentifier(placedRow.row)] = placedRow
      } else {
        rows.remove(placedRow.row)
        moving.append(placedRow)
      }
    }
    /// Both lists change together: a row is either kept or moving.
    func out(_ placedRow: PlacedRow) {
      kept[ObjectIdentifier(placedRow.row)] = nil
      rows.remove(placedRow.row)
      moving.append(placedRow)
    }
    var waiting = staying.map(\.row)
    while let row = waiting.popLast() {
      guard let placedRow = kept[ObjectIdentifier(row)] else { continue }
      let (previous, next) = outOfOrder(row, order)
      guard previous != nil || next != nil else { continue }
      // Two rows are out of order and it is unknown which one moved: both are removed, and one comes back to its place.
      let outside = rows.neighbours(of: row)
      out(placedRow)
      var around = [outside.previous, outside.next]
      for other in [previous, next] {
        guard let other, let placedRow = kept[ObjectIdentifier(other)] else { continue }
        let beyond = rows.neighbours(of: other)
        around += [beyond.previous, beyond.next]
        out(placedRow)
      }
      // The rows that remain there are neighbours now.
      for row in around {
        if let row, kept[ObjectIdentifier(row)] != nil { waiting.append(row) }
      }
    }
    return moving
  }

  /// Inserts rows at their places, creates missing sections and removes sections that stay empty.
  ///
  /// Arriving rows are sorted first, so that of rows with equal keys the older comes first, as in a fetch by Z_PK. Each
  /// then finds its section by name and its place by binary search.
  ///
  /// Sections that have become empty are removed before, so that a new one is placed among the remaining; a removed one
  /// is used again if its name comes back at the same place (`makeSection`): then the delegate hears neither of its
  /// deletion nor of its insertion.
  private func putIn(_ arriving: [AnyObject], _ order: RowOrder) {
    let emptied = sectionNameKeyPath == nil ? [] : rows.removeEmptySections()
    guard !arriving.isEmpty else { return }
    let formerByName = Dictionary(emptied.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var byName = Dictionary(rows.sections.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let sorted = arriving.map { (row: $0, keys: order.keys(of: $0)) }.sorted { first, second in
      if order.isAfter(second.keys, first.keys) { return true }
      if order.isAfter(first.keys, second.keys) { return false }
      return FetchedResults.isOlder(first.row, second.row)
    }
    for (row, keys) in sorted {
      let name = sectionName(of: row)
      let section = byName[name] ?? makeSection(name, before: keys, order, former: formerByName[name])
      byName[name] = section
      let index = section.partition { order.isAfter(order.keys(of: $0), keys) }
      rows.insert(row, into: section, at: index)
    }
  }

  /// Inserts an empty section at the place for a row with these keys. The row's former section is used again if its
  /// neighbours are the same.
  ///
  /// The place of a section is that of its first row among the first rows of the others: sections are in the order of
  /// the rows.
  ///
  /// `position` is still that of before the changes, -1 for a section that is new in this update: this tells whether
  /// the former neighbours are the same.
  private func makeSection(_ name: String, before keys: RowOrder.Keys, _ order: RowOrder, former: FetchedSection?)
    -> FetchedSection
  {
    let sections = rows.sections
    var low = 0
    var high = sections.count
    while low < high {
      let middle = (low + high) / 2
      let first = sections[middle].first.map { order.keys(of: $0) }
      if let first, order.isAfter(first, keys) { high = middle } else { low = middle + 1 }
    }
    let previous = sections[..<low].last { $0.position >= 0 }?.position ?? -1
    let next = sections[low...].first { $0.position >= 0 }?.position ?? Int.max
    let isBetweenTheSame = former.map { previous < $0.position && $0.position < next } ?? false
    let section = former.flatMap { isBetweenTheSame ? $0 : nil } ?? FetchedSection(name: name, results: self)
    rows.insert(section, at: low)
    return section
  }

  /// Orders rows with equal sort keys: the one that was saved, or created, first comes first.
  ///
  /// A fetch leaves the order of equal rows open; SQLite gives them mostly by Z_PK, and this keeps to that.
  private static func isOlder(_ first: AnyObject, _ second: AnyObject) -> Bool {
    guard let first = (first as? NSManagedObject)?.objectID.key, let second = (second as? NSManagedObject)?.objectID.key
    else { return false }
    // Temporary keys are negative and descend.
    if (first > 0) != (second > 0) { return first > 0 }
    return first > 0 ? first < second : first > second
  }
}
