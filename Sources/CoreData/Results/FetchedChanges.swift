/// One set of changes to fetched results, in the form that delegates get.
///
/// Made by `FetchedResults.update` in two steps: sections first, while `position` is still the old index, then rows,
/// when they are at their new places. It keeps no reference to the results and changes nothing.
struct FetchedChanges {
  /// `from` counts before all changes, `to` after all.
  private struct Row {
    let object: AnyObject
    let type: NSFetchedResultsChangeType
    let from: IndexPath?
    let to: IndexPath?
  }

  private var deletedSections: [(section: FetchedSection, index: Int)] = []
  private var insertedSections: [(section: FetchedSection, index: Int)] = []
  private var deleted: [Row] = []
  private var inserted: [Row] = []
  private var moved: [Row] = []
  private var updated: [Row] = []

  /// Notes which sections were inserted and deleted. Sections that stayed still have their former positions.
  ///
  /// A section object is the same before and after if it stayed, so identity tells.
  mutating func note(sectionsBefore before: [FetchedSection], after: [FetchedSection]) {
    for (index, section) in after.enumerated() where section.position < 0 { insertedSections.append((section, index)) }
    guard before.count + insertedSections.count != after.count else { return }
    let remaining = Set(after.map { ObjectIdentifier($0) })
    for section in before where !remaining.contains(ObjectIdentifier(section)) {
      deletedSections.append((section, section.position))
    }
  }

  /// Notes what happened to rows. They are already at their new places.
  ///
  /// Deleted rows are told from the last to the first, so that a program that removes them one by one finds each path
  /// valid; inserted and moved ones in the order of their new places, updated ones in that of their old places.
  mutating func note(
    leaving: [FetchedResults.PlacedRow], entering: [AnyObject], moving: [FetchedResults.PlacedRow],
    staying: [FetchedResults.PlacedRow], changed: Set<ObjectIdentifier>, rows: inout FetchedRows
  ) {
    deleted = leaving.map { Row(object: $0.row, type: .delete, from: $0.path, to: nil) }
    for row in entering { inserted.append(Row(object: row, type: .insert, from: nil, to: rows.indexPath(of: row))) }
    let inPlace = FetchedChanges.returned(leaving: leaving, entering: entering, moving: moving, in: &rows)
    let out = Set(moving.map { ObjectIdentifier($0.row) }).subtracting(inPlace)
    for placedRow in staying {
      let row = ObjectIdentifier(placedRow.row)
      if out.contains(row) {
        moved.append(
          Row(object: placedRow.row, type: .move, from: placedRow.path, to: rows.indexPath(of: placedRow.row)))
      } else if changed.contains(row) {
        updated.append(
          Row(object: placedRow.row, type: .update, from: placedRow.path, to: rows.indexPath(of: placedRow.row)))
      }
    }
    deleted = Self.ordered(deleted, deleted.map(\.from)).reversed()
    inserted = Self.ordered(inserted, inserted.map(\.to))
    moved = Self.ordered(moved, moved.map(\.to))
    updated = Self.ordered(updated, updated.map(\.from))
  }

  /// The rows in the order of their paths.
  private static func ordered(_ changes: [Row], _ paths: [IndexPath?]) -> [Row] {
    changes.indices.sorted { (paths[$0] ?? []) < (paths[$1] ?? []) }.map { changes[$0] }
  }

  /// The rows that were taken out and put back between the same neighbours that never moved: they did not move either.
  ///
  /// `takeOut` may take out a row that had not moved. Whether a row moved is a question of its neighbours among the
  /// rows that never moved:
  ///
  /// ```text
  /// before      A [B] C [D] E         [] are touched rows that were taken out
  /// after       A [B] C E [D]
  /// gaps        B: one unmoved row before, before and after: the same gap, not moved
  ///             D: two before, three after: moved
  /// ```
  ///
  /// A gap is a section and the number of unmoved rows before it. Of several rows in one gap, the longest run in the
  /// old order is not looked for: those that continue an ascending sequence from the front count as unmoved, and
  /// delegates get a few moves more than necessary at worst.
  ///
  /// O(t log t) for t touched rows.
  private static func returned(
    leaving: [FetchedResults.PlacedRow], entering: [AnyObject], moving: [FetchedResults.PlacedRow],
    in rows: inout FetchedRows
  ) -> Set<ObjectIdentifier> {
    guard !moving.isEmpty else { return [] }
    var taken: [ObjectIdentifier: [Int]] = [:]
    var put: [ObjectIdentifier: [Int]] = [:]
    for placedRow in leaving + moving {
      taken[ObjectIdentifier(placedRow.section), default: []].append(placedRow.path[1])
    }
    for row in entering + moving.map(\.row) {
      if let place = rows.place(of: row) { put[ObjectIdentifier(place.section), default: []].append(place.index) }
    }
    taken = taken.mapValues { $0.sorted() }
    put = put.mapValues { $0.sorted() }
    /// The number of rows before a position that never moved.
    func unmoved(before index: Int, _ moved: [Int]) -> Int {
      var low = 0
      var high = moved.count
      while low < high {
        let middle = (low + high) / 2
        if moved[middle] < index { low = middle + 1 } else { high = middle }
      }
      return index - low
    }
    struct Gap: Hashable {
      let section: ObjectIdentifier
      let unmoved: Int
    }
    var gaps: [Gap: [(old: Int, new: Int, row: ObjectIdentifier)]] = [:]
    for placedRow in moving {
      guard let place = rows.place(of: placedRow.row), place.section === placedRow.section else { continue }
      let section = ObjectIdentifier(placedRow.section)
      let old = unmoved(before: placedRow.path[1], taken[section] ?? [])
      guard old == unmoved(before: place.index, put[section] ?? []) else { continue }
      gaps[Gap(section: section, unmoved: old), default: []].append(
        (placedRow.path[1], place.index, ObjectIdentifier(placedRow.row)))
    }
    var unmovedRows: Set<ObjectIdentifier> = []
    for gap in gaps.values {
      // Of several rows in one gap, those that kept their order count as unmoved.
      var last = -1
      for member in gap.sorted(by: { $0.new < $1.new }) where member.old > last {
        last = member.old
        unmovedRows.insert(member.row)
      }
    }
    return unmovedRows
  }

  // MARK: Telling

  /// The changes as offsets in all rows, without regard to sections.
  ///
  /// One section only. An update is a removal and an insertion at associated offsets.
  var difference: CollectionDifference<NSManagedObjectID> {
    var changes: [CollectionDifference<NSManagedObjectID>.Change] = []
    for row in deleted + inserted + moved + updated {
      guard let id = (row.object as? NSManagedObject)?.objectID else { continue }
      let from = row.from.map { $0[1] }
      let to = row.to.map { $0[1] }
      if let from { changes.append(.remove(offset: from, element: id, associatedWith: to)) }
      if let to { changes.append(.insert(offset: to, element: id, associatedWith: from)) }
    }
    guard let difference = CollectionDifference(changes) else {
      fatalError("Changes to fetched results contradict each other.")
    }
    return difference
  }

  /// Apple's order is not documented; this one is that of the delegate's page.
  func tell(
    _ delegate: any NSFetchedResultsControllerDelegate,
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>
  ) {
    for (section, index) in insertedSections {
      delegate.controller(controller, didChange: section, atSectionIndex: index, for: .insert)
    }
    for row in deleted + inserted + moved + updated {
      delegate.controller(controller, didChange: row.object, at: row.from, for: row.type, newIndexPath: row.to)
    }
    // A section goes when the delegate knows that its objects have gone.
    for (section, index) in deletedSections.reversed() {
      delegate.controller(controller, didChange: section, atSectionIndex: index, for: .delete)
    }
  }
}
