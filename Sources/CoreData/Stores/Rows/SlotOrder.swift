/// The order of a fetch's rows where their slots tell it, for rows that are in memory: those of stores in memory, and
/// those of a SQLite file if it gives them as it finds them.
///
/// SQLite's sorter makes a record of each row, compares records through its interpreter's functions, writes them to a
/// temporary file once they take more than a megabyte, and takes each apart again. Here a row is eight bytes of its
/// value and its place, and two of them are compared in a few instructions.
///
/// The order is SQLite's (https://www.sqlite.org/datatype3.html, "Sort Order"): nil first, numbers by value, texts by
/// their bytes, and the other way round for a descending term. Equal rows keep the order in which they were found.
struct SlotOrder {
  private let terms: [Term]

  /// Nil if there is no order, or if it needs more than the rows' slots and keys: related objects, localized texts, a
  /// closure.
  ///
  /// - Parameter ordersByKeys: whether a descriptor of the objects themselves compares their keys, as SQLite does also
  ///   for objects of two entities. In memory these are equal.
  init?(_ descriptors: [NSSortDescriptor], of layout: EntityLayout, ordersByKeys: Bool) {
    if descriptors.isEmpty { return nil }
    var terms: [Term] = []
    for descriptor in descriptors {
      guard let term = Term(descriptor, layout), term.slot != nil || ordersByKeys else { return nil }
      terms.append(term)
    }
    self.terms = terms
  }

  /// What one sort descriptor compares.
  private struct Term {
    /// Nil for the row's key.
    let slot: Int?
    let kind: SlotKind
    let isAscending: Bool

    init?(_ descriptor: NSSortDescriptor, _ layout: EntityLayout) {
      if descriptor.hasComparator { return nil }
      isAscending = descriptor.ascending
      let key = descriptor.key ?? "self"
      if ["self", "SELF", "objectID"].contains(key) {
        (slot, kind) = (nil, .integer)
        return
      }
      guard let slot = layout.slot(key), !layout.slots[slot].isTransient else { return nil }
      self.slot = slot
      kind = layout.kinds[slot]
      switch kind {
      case .integer, .boolean, .double, .float, .date: break
      case .string:
        if let selector = descriptor.selector, StringOrdering(selector: selector) ?? .binary != .binary { return nil }
      case .data, .boxed, .toOne: return nil
      }
    }
  }

  // MARK: Sorting

  /// A row's value of one term, reduced to two numbers that compare as the values do, and the row's place.
  ///
  /// ```text
  /// value                  first           rank
  /// nil                    0               0
  /// -2                     7fff…fffe       1
  /// "Kindred", from 0      4b696e6472656400   8: seven bytes, and one more
  /// "The Dispossessed"     5468652044697370   10: there are more bytes
  /// ```
  ///
  /// Where two texts of rank 10 have the same eight bytes, those behind them decide.
  private struct Entry {
    var first: UInt64
    /// The rank, and in the lower half the place.
    var second: UInt64

    static let rankOfMore: UInt64 = 10

    init(place: Int) { (first, second) = (0, UInt64(place)) }

    var place: Int { Int(second & 0xffff_ffff) }
    var rank: UInt64 { second >> 32 }

    mutating func set(_ first: UInt64, rank: UInt64, isAscending: Bool) {
      self.first = isAscending ? first : ~first
      second = second & 0xffff_ffff | (isAscending ? rank : 0xffff - rank) << 32
    }

    func hasEqualValue(_ other: Entry) -> Bool { first == other.first && rank == other.rank }

    static func precedes(_ left: Entry, _ right: Entry) -> Bool {
      left.first == right.first ? left.second < right.second : left.first < right.first
    }
  }

  /// Rows whose values were equal so far, and what is compared next.
  private struct Run {
    let range: Range<Int>
    let term: Int
    /// The bytes that are known to be equal, of a text.
    let offset: Int
  }

  /// A row's key and slots, by its place. They stay where they are during the sort.
  typealias Rows = (_ place: Int) -> (key: Int64, slots: UnsafeMutablePointer<SnapshotSlot>)

  /// The places of rows in their order.
  ///
  /// Complexity: O(n log n) comparisons of numbers for each term, and for texts with a long common beginning one round
  /// for each eight bytes behind it.
  func places(of count: Int, _ rows: Rows) -> [Int] {
    var entries = (0..<count).map(Entry.init(place:))
    entries.withUnsafeMutableBufferPointer { entries in
      // Not by recursion: texts that begin with each other could make it as deep as there are rows.
      var runs = [Run(range: 0..<count, term: 0, offset: 0)]
      while let run = runs.popLast() { sort(run, rows, entries, &runs) }
    }
    return entries.map(\.place)
  }

  /// Sorts a run by its term, and notes the runs of equal values in it.
  private func sort(
    _ run: Run, _ rows: Rows, _ entries: UnsafeMutableBufferPointer<Entry>, _ runs: inout [Run]
  ) {
    let term = terms[run.term]
    // Eight bytes of "Person number 17" tell nothing among others like it: those behind the common beginning do.
    let offset = term.kind == .string ? commonLength(term, run, rows, entries) : 0
    for index in run.range {
      let row = rows(entries[index].place)
      SlotOrder.read(term, offset, row.key, row.slots, &entries[index])
    }
    var part = UnsafeMutableBufferPointer(rebasing: entries[run.range])
    part.sort(by: Entry.precedes)
    let rankOfMore = term.isAscending ? Entry.rankOfMore : 0xffff - Entry.rankOfMore
    var start = run.range.lowerBound
    while start < run.range.upperBound {
      var end = start + 1
      while end < run.range.upperBound && entries[end].hasEqualValue(entries[start]) { end += 1 }
      if end - start > 1 {
        if entries[start].rank == rankOfMore {
          runs.append(Run(range: start..<end, term: run.term, offset: offset + 8))
        } else if run.term + 1 < terms.count {
          runs.append(Run(range: start..<end, term: run.term + 1, offset: 0))
        }
      }
      start = end
    }
  }

  @inline(__always)
  private static func read(
    _ term: Term, _ offset: Int, _ key: Int64, _ slots: UnsafeMutablePointer<SnapshotSlot>, _ entry: inout Entry
  ) {
    let sign: UInt64 = 1 << 63
    guard let slot = term.slot.map({ slots + $0 }) else {
      return entry.set(UInt64(bitPattern: key) ^ sign, rank: 1, isAscending: term.isAscending)
    }
    switch term.kind {
    case .string:
      guard let (first, rank) = String.withBytes(slot, { beginning(of: $0[offset...]) }) else {
        return entry.set(0, rank: 0, isAscending: term.isAscending)
      }
      entry.set(first, rank: rank, isAscending: term.isAscending)
    case .double, .float, .date:
      let number = Double.load(slot)
      // Adding 0 makes one zero of the two.
      let bits = ((number ?? 0) + 0).bitPattern
      let first = number == nil ? 0 : bits & sign == 0 ? bits | sign : ~bits
      entry.set(first, rank: number == nil ? 0 : 1, isAscending: term.isAscending)
    default:
      let number = Int64.load(slot)
      let first = number.map { UInt64(bitPattern: $0) ^ sign } ?? 0
      entry.set(first, rank: number == nil ? 0 : 1, isAscending: term.isAscending)
    }
  }

  /// The first eight bytes as a number, and one more than their count.
  @inline(__always)
  private static func beginning(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> (first: UInt64, rank: UInt64) {
    var first: UInt64 = 0
    for byte in bytes.prefix(8) { first = first << 8 | UInt64(byte) }
    guard bytes.count < 8 else { return (first, bytes.count == 8 ? 9 : Entry.rankOfMore) }
    return (first << (8 * UInt64(8 - bytes.count)), UInt64(bytes.count) + 1)
  }

  /// The number of bytes with which all texts of a run begin. Those that are known to be equal are not looked at: of
  /// long texts that begin with each other there are many rounds.
  private func commonLength(
    _ term: Term, _ run: Run, _ rows: Rows, _ entries: UnsafeMutableBufferPointer<Entry>
  ) -> Int {
    guard let slot = term.slot else { return 0 }
    let offset = run.offset
    func slots(_ index: Int) -> UnsafeMutablePointer<SnapshotSlot> { rows(entries[index].place).slots + slot }
    let first = run.range.first { !slots($0).pointee.isNil(.string) }
    let length = first.flatMap { first in
      String.withBytes(slots(first)) { first in
        var length = first.count
        for index in run.range where length > offset {
          _ = String.withBytes(slots(index)) { other in
            length = min(length, other.count)
            guard length > offset, let start = first.baseAddress, let otherStart = other.baseAddress,
              memcmp(start + offset, otherStart + offset, length - offset) != 0
            else { return }
            length = offset + zip(first[offset...], other[offset...]).prefix(while: ==).count
          }
        }
        return length
      }
    }
    return length ?? 0
  }
}

extension NSEntityDescription {
  /// The properties of the entity that the model has in an index: one of any of the three forms, or of unique values.
  /// Indexes of subentities do not count.
  fileprivate var ownIndexedNames: [String] {
    indexes.flatMap { $0.elements.compactMap(\.propertyName) } + declaredProperties.filter(\.isIndexed).map(\.name)
      + (compoundIndexes + uniquenessConstraints).flatMap(names(of:))
  }

  var indexedNames: Set<String> { Set(sequence(first: self, next: \.superentity).flatMap(\.ownIndexedNames)) }
}
