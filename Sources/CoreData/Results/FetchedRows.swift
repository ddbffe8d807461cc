/// Rows in sections, with a fast way from a row to its place.
///
/// ```text
/// sections   [Austen]                    [Brontë]
/// blocks      [r1 … r256] [r257 … r400]   [r401 … r450]
/// table       r1 → block 1, r257 → block 2, r401 → block 3, …
/// ```
///
/// A row's place is its block (by the table), the block's section, the lengths of the blocks before, and the row's
/// offset in the block. So an insertion changes one block's offsets, and no number that is kept for each row.
///
/// A structure for `update`, which may have to show the former rows once more; the sections and blocks are classes, so
/// a copy that must not change is made by `copy(for:)`.
struct FetchedRows {
  private(set) var sections: [FetchedSection] = []
  /// Of all sections, kept along with each insertion and removal.
  private(set) var count = 0
  /// Built by the first lookup of a row: results that are only read in order need no table.
  private var blocks: [ObjectIdentifier: FetchedSection.Block]?
  /// Results are mostly read as a whole between two changes.
  private var flat: [AnyObject]?

  /// The section of a row and the row's position in it.
  struct Place {
    let section: FetchedSection
    let index: Int
  }

  init(_ sections: [FetchedSection]) {
    self.sections = sections
    count = sections.reduce(0) { $0 + $1.count }
    number()
  }

  /// All rows in order, cached until the next change.
  ///
  /// With one section its array is taken, and no other is made.
  mutating func all() -> [AnyObject] {
    if let flat { return flat }
    let allRows = sections.count == 1 ? sections[0].rows : sections.flatMap(\.rows)
    flat = allRows
    return allRows
  }

  /// A copy whose sections do not change with these.
  func copy(for results: FetchedResults) -> FetchedRows {
    FetchedRows(sections.map { FetchedSection(name: $0.name, rows: $0.rows, results: results) })
  }

  // MARK: Finding

  /// The table is made when a row is first looked up, mostly by the first change: 100,000 entries that a list which is
  /// only shown does not pay for.
  private mutating func block(of row: AnyObject) -> FetchedSection.Block? {
    if let blocks { return blocks[ObjectIdentifier(row)] }
    var blocksByRow: [ObjectIdentifier: FetchedSection.Block] = [:]
    blocksByRow.reserveCapacity(count)
    for section in sections {
      for block in section.blocks {
        for row in block.rows { blocksByRow[ObjectIdentifier(row)] = block }
      }
    }
    blocks = blocksByRow
    return blocksByRow[ObjectIdentifier(row)]
  }

  mutating func contains(_ row: AnyObject) -> Bool { block(of: row) != nil }

  mutating func section(of row: AnyObject) -> FetchedSection? { block(of: row)?.section }

  /// `mutating`, since the first question makes the table.
  mutating func place(of row: AnyObject) -> Place? {
    guard let block = block(of: row) else { return nil }
    return Place(section: block.section, index: block.section.index(of: row, in: block))
  }

  /// The section's `position` is as of the last `number()`.
  mutating func indexPath(of row: AnyObject) -> IndexPath? {
    place(of: row).map { IndexPath(item: $0.index, section: $0.section.position) }
  }

  /// The rows before and after a row, in any section. Valid while no section was inserted or removed.
  ///
  /// A section without rows, such as one that a removal has just emptied, is passed over.
  mutating func neighbours(of row: AnyObject) -> (previous: AnyObject?, next: AnyObject?) {
    guard let place = place(of: row) else { return (nil, nil) }
    let position = place.section.position
    let previous =
      place.index > 0
      ? place.section.row(at: place.index - 1) : sections[..<position].last { $0.count > 0 }?.last
    let next =
      place.index + 1 < place.section.count
      ? place.section.row(at: place.index + 1) : sections[(position + 1)...].first { $0.count > 0 }?.first
    return (previous, next)
  }

  // MARK: Changing

  /// The section stays even if it has no rows left, until `removeEmptySections()`: a row that arrives may need it.
  mutating func remove(_ row: AnyObject) {
    guard let block = block(of: row) else { return }
    flat = nil
    count -= 1
    block.section.remove(row, from: block)
    blocks?[ObjectIdentifier(row)] = nil
  }

  /// A full block is split in two, and then the table's entries of both are written: a few hundred, once in a few
  /// hundred insertions.
  mutating func insert(_ row: AnyObject, into section: FetchedSection, at index: Int) {
    // The table must exist before the section changes.
    _ = block(of: row)
    flat = nil
    count += 1
    let changed = section.insert(row, at: index)
    blocks?[ObjectIdentifier(row)] = changed[0]
    guard changed.count > 1 else { return }
    for block in changed { for row in block.rows { blocks?[ObjectIdentifier(row)] = block } }
  }

  /// Its `position` is still -1: it is not numbered before all changes are noted.
  mutating func insert(_ section: FetchedSection, at index: Int) { sections.insert(section, at: index) }

  /// Removes the sections without rows and returns them.
  mutating func removeEmptySections() -> [FetchedSection] {
    let empty = sections.filter { $0.count == 0 }
    if !empty.isEmpty { sections.removeAll { $0.count == 0 } }
    return empty
  }

  /// Sets `position` of each section.
  ///
  /// Called when the changes are noted. Until then `position` is the former index, by which `FetchedChanges` names
  /// deleted sections.
  func number() {
    for (position, section) in sections.enumerated() { section.position = position }
  }
}
