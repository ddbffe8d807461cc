/// The pairs of join tables that a save writes, by table.
///
/// Both objects of a pair report the change of a many-to-many relationship, mostly in the same save. The writer of a
/// database has one of these for removed pairs and one for added pairs, and writes what they return:
///
/// ```text
/// book 2 gets the tags 4 and 5
/// reported by            pairs (Book, Tag)      returned
/// Book.tags of book 2    (2, 4), (2, 5)         both
/// Tag.books of tag 4     (2, 4)                 none
/// Tag.books of tag 5     (2, 5)                 none
/// ```
package struct WrittenPairs {
  private struct Pair: Hashable {
    let first: Int64
    let second: Int64
  }

  private var pairs: [String: Set<Pair>] = [:]

  package init() {}

  /// Adds the pairs of one side, and returns those that the other side has not reported.
  ///
  /// - Parameter ownerIsFirst: whether the owner's column comes before the member's by its name: the other side has the
  ///   same columns the other way round.
  package mutating func add(
    _ members: [(owner: Int64, member: Int64)], to table: String, ownerIsFirst: Bool
  ) -> [(owner: Int64, member: Int64)] {
    if members.isEmpty { return [] }
    // Out of the dictionary the set is changed in place, and the table is looked up once.
    var tablePairs = pairs.removeValue(forKey: table) ?? []
    defer { pairs[table] = tablePairs }
    return members.filter { pair in
      let (first, second) = ownerIsFirst ? (pair.owner, pair.member) : (pair.member, pair.owner)
      return tablePairs.insert(Pair(first: first, second: second)).inserted
    }
  }
}
