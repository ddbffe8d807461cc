/// The order of fetched results: by sort descriptors, or as given.
///
/// `FetchedResults` compares with it only rows of which at least one is touched.
struct RowOrder {
  private let descriptors: [NSSortDescriptor]
  private let ranks: [ObjectIdentifier: Int]

  init(_ descriptors: [NSSortDescriptor]) {
    self.descriptors = descriptors
    ranks = [:]
  }

  /// The order of the array.
  ///
  /// For a window, whose rows the store has sorted: each row's rank is its index.
  init(asIn rows: [AnyObject]) {
    descriptors = []
    ranks = Dictionary(rows.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The values of a row that are compared.
  ///
  /// Taken once for each row that is compared with many: a binary search reads the inserted row's values once.
  struct Keys {
    fileprivate let rank: Int
    fileprivate let values: [SortKey]
  }

  func keys(of row: AnyObject) -> Keys {
    Keys(rank: ranks[ObjectIdentifier(row)] ?? 0, values: descriptors.map { $0.sortKey(of: row) })
  }

  /// Whether the first row belongs after the second.
  ///
  /// False for equal rows, so that equal neighbours are in order.
  func isAfter(_ first: Keys, _ second: Keys) -> Bool {
    for (position, descriptor) in descriptors.enumerated() {
      switch descriptor.order(first.values[position], second.values[position]) {
      case .orderedAscending: return false
      case .orderedDescending: return true
      case .orderedSame: continue
      }
    }
    return first.rank > second.rank
  }
}
