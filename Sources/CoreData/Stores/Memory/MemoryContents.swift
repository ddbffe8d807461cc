/// Rows and the members of their to-many relationships at one moment. It is a value: a copy keeps its state.
///
/// The library with one author and two books, where Author is the entity 1 and Book is 2 and `Author.books` is the list
/// 0:
///
/// ```text
/// rows[1]       1 → (Le Guin)
/// rows[2]       1 → (author 1, isRead 1, pages 342, The Dispossessed)     2 → (author 1, …)
/// members[0]    1 → [1, 2]            the books of the author 1
/// ```
///
/// Subentities have a table of their own here, unlike in SQL: a fetch of `Book` with subentities walks through several
/// and sorts by key.
package struct MemoryContents {
  /// The rows by the number of their own entity.
  private(set) var rows: [PagedTable<Snapshot>]
  /// The members by list number and owner: their keys in ascending order, or in the relationship's order.
  private(set) var members: [PagedTable<[Int64]>]

  init(_ schema: MemorySchema) {
    rows = Array(repeating: PagedTable(), count: schema.entities.count)
    members = Array(repeating: PagedTable(), count: schema.listCount)
  }

  func row(_ key: Int64, _ number: Int) -> Snapshot? { rows.indices.contains(number) ? rows[number][key] : nil }

  /// The entity of a key's row, among the given ones.
  ///
  /// A list has keys only. Where members may be of several entities, the tables are asked in turn: a key is in one of
  /// them.
  func number(of key: Int64, among numbers: [Int]) -> Int? {
    numbers.count == 1 && rows[numbers[0]][key] != nil ? numbers[0] : numbers.first { rows[$0][key] != nil }
  }

  mutating func set(_ row: Snapshot?, _ key: Int64, _ number: Int) { rows[number].update(key) { $0 = row } }

  /// Adds a member at the end of an ordered list, or at its place in an unordered one. Does nothing for an existing
  /// member.
  ///
  /// Appending is the common case: new members have larger keys. A member in between is inserted by halving, which
  /// moves the keys behind it.
  package mutating func add(_ member: Int64, to list: Int, of owner: Int64, isOrdered: Bool) {
    members[list].update(owner) { keys in
      guard let last = keys?.last else { return keys = [member] }
      if isOrdered {
        if !(keys?.contains(member) ?? false) { keys?.append(member) }
      } else if last < member {
        keys?.append(member)
      } else if let place = keys?.firstPlace(notBefore: member), keys?[place] != member {
        keys?.insert(member, at: place)
      }
    }
  }

  mutating func remove(_ member: Int64, from list: Int, of owner: Int64, isOrdered: Bool) {
    guard members[list][owner] != nil else { return }
    members[list].update(owner) { keys in
      let place = isOrdered ? keys?.firstIndex(of: member) : keys?.firstPlace(notBefore: member)
      if let place, place < keys?.count ?? 0, keys?[place] == member { keys?.remove(at: place) }
      if keys?.isEmpty ?? false { keys = nil }
    }
  }

  mutating func setMembers(_ keys: [Int64], _ list: Int, of owner: Int64) {
    members[list].update(owner) { $0 = keys.isEmpty ? nil : keys }
  }
}

extension [Int64] {
  /// The index of the first key that is not smaller, in ascending keys.
  fileprivate func firstPlace(notBefore key: Int64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
