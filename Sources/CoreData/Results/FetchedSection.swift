/// A section of fetched results. Its rows are in blocks, so that an insertion or a deletion moves few of them: at most
/// 512 references, in place of all that follow in an array.
///
/// A class, since programs hold it as `NSFetchedResultsSectionInfo` and blocks refer to it.
final class FetchedSection: NSObject {
  let name: String
  /// The section's index; while changes are applied, its index before them. -1 means none.
  ///
  /// Set by `FetchedRows.number()` after each update.
  var position = -1
  private(set) var count = 0
  private(set) var blocks: [Block] = []
  private var flat: [AnyObject]?
  private weak var results: FetchedResults?

  /// A run of neighbouring rows.
  ///
  /// Between 1 and 512 rows; an empty block is removed. `unowned` is safe because a block is reached through its
  /// section only.
  final class Block {
    fileprivate(set) var rows: [AnyObject]
    unowned let section: FetchedSection

    fileprivate init(_ rows: [AnyObject], _ section: FetchedSection) {
      self.rows = rows
      self.section = section
    }
  }

  /// Blocks are made half full, so that the first insertions split nothing.
  private static let fullBlock = 512

  init(name: String, rows: some Collection<AnyObject> = [], results: FetchedResults?) {
    self.name = name
    self.results = results
    super.init()
    count = rows.count
    var unassignedRows = rows[...]
    while !unassignedRows.isEmpty {
      blocks.append(Block(Array(unassignedRows.prefix(FetchedSection.fullBlock / 2)), self))
      unassignedRows = unassignedRows.dropFirst(FetchedSection.fullBlock / 2)
    }
  }

  /// The rows as an array, cached until the next change.
  ///
  /// O(n) at the first access after a change.
  var rows: [AnyObject] {
    if let flat { return flat }
    var allRows: [AnyObject] = []
    allRows.reserveCapacity(count)
    for block in blocks { allRows += block.rows }
    flat = allRows
    return allRows
  }

  /// Sections of one name with the same rows in one order are equal, as those before and after a fetch.
  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FetchedSection else { return false }
    return self === other || name == other.name && rows.elementsEqual(other.rows, by: ===)
  }

  override var hash: Int { name.hashValue }

  var first: AnyObject? { blocks.first?.rows.first }
  var last: AnyObject? { blocks.last?.rows.last }

  /// O(blocks) to find the block. Traps beyond the end; the callers have checked.
  func row(at index: Int) -> AnyObject {
    let (block, offset) = place(index)
    return blocks[block].rows[offset]
  }

  /// The block of a position and the offset in it. The position after the last row is at the end of the last block.
  ///
  /// O(blocks): 400 additions for 100,000 rows.
  private func place(_ index: Int) -> (block: Int, offset: Int) {
    var offset = index
    for (position, block) in blocks.enumerated() {
      if offset < block.rows.count || position == blocks.count - 1 { return (position, offset) }
      offset -= block.rows.count
    }
    return (0, 0)
  }

  /// The position of a row that is in the block.
  ///
  /// O(blocks + 512).
  func index(of row: AnyObject, in block: Block) -> Int {
    var before = 0
    for other in blocks {
      if other === block { break }
      before += other.rows.count
    }
    // The caller knows that the block has the row.
    return before + (block.rows.firstIndex { $0 === row } ?? 0)
  }

  /// The position of the first row for which the condition holds. It must hold for all rows after that one.
  ///
  /// Two binary searches: the blocks by their last rows, then one block's rows. The test for the end comes first,
  /// because rows mostly arrive there.
  func partition(where isAfter: (AnyObject) -> Bool) -> Int {
    guard let last, isAfter(last) else { return count }
    var low = 0
    var high = blocks.count - 1
    while low < high {
      let middle = (low + high) / 2
      if isAfter(blocks[middle].rows[blocks[middle].rows.count - 1]) { high = middle } else { low = middle + 1 }
    }
    let rows = blocks[low].rows
    var first = 0
    var end = rows.count - 1
    while first < end {
      let middle = (first + end) / 2
      if isAfter(rows[middle]) { end = middle } else { first = middle + 1 }
    }
    return blocks[..<low].reduce(first) { $0 + $1.rows.count }
  }

  /// Inserts a row. Returns the blocks whose rows changed their block, the new block included.
  ///
  /// - Returns: one block, or two after a split.
  func insert(_ row: AnyObject, at index: Int) -> [Block] {
    flat = nil
    count += 1
    guard !blocks.isEmpty else {
      blocks = [Block([row], self)]
      return blocks
    }
    let (position, offset) = place(index)
    let block = blocks[position]
    block.rows.insert(row, at: offset)
    guard block.rows.count > FetchedSection.fullBlock else { return [block] }
    // Appended rows leave a full block behind; any other place splits the block in half.
    let kept = offset == block.rows.count - 1 ? offset : block.rows.count / 2
    let second = Block(Array(block.rows[kept...]), self)
    block.rows.removeSubrange(kept...)
    blocks.insert(second, at: position + 1)
    return [second, block]
  }

  /// The caller removes the row from `FetchedRows.blocks`.
  func remove(_ row: AnyObject, from block: Block) {
    guard let offset = block.rows.firstIndex(where: { $0 === row }) else { return }
    flat = nil
    count -= 1
    block.rows.remove(at: offset)
    if block.rows.isEmpty { blocks.removeAll { $0 === block } }
  }
}

/// What programs see of the class.
extension FetchedSection: NSFetchedResultsSectionInfo {
  var indexTitle: String? { results?.controller?.sectionIndexTitle(forSectionName: name) }
  var numberOfObjects: Int { count }
  var objects: [Any]? { rows }
}
