/// Sorting in memory: the results of a fetch with unsaved changes, the rows of stores in memory, fetched results.
extension Array {
  /// The elements in the order of the descriptors. Each key is read once for each element; equal elements keep their
  /// order.
  ///
  /// Complexity: O(n log n) comparisons, and one reading of each key path for each element, which may fire faults.
  func sorted(by descriptors: [NSSortDescriptor]) -> [Element] {
    sorted(by: descriptors) { $1.sortKey(of: $0) }
  }

  /// The elements in the order of the descriptors.
  ///
  /// Swift's sort is not promised to be stable, so the index of an element decides between equal ones. The keys are
  /// read before the sort: a sort that read them in each comparison would read them about log n times as often.
  ///
  /// - Parameter key: reads the value that a descriptor compares; called once for each element and descriptor.
  func sorted(
    by descriptors: [NSSortDescriptor], key: (_ element: Element, _ descriptor: NSSortDescriptor) -> SortKey
  ) -> [Element] {
    // A fetch without an order keeps that of the rows.
    if descriptors.isEmpty { return self }
    let keys = map { element in descriptors.map { key(element, $0) } }
    let order = indices.sorted { first, second in
      for (position, descriptor) in descriptors.enumerated() {
        switch descriptor.order(keys[first][position], keys[second][position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      // Equal by all descriptors: the order before.
      return first < second
    }
    return order.map { self[$0] }
  }
}

/// The value that a sort descriptor compares: reduced to a kind, or unchanged for a closure.
///
/// A closure gets the objects' values as they are, so nothing can be prepared for it.
enum SortKey {
  case value(PredicateValue)
  case any(Any)
}

extension NSSortDescriptor {
  /// What the descriptor compares of an element.
  func sortKey(of element: Any) -> SortKey {
    guard let keyed = self as? KeyedSortDescriptor, keyed.block == nil else { return .any(element) }
    return .value(keyed.value(of: element))
  }

  /// The order of two keys in the descriptor's direction. Keys of one descriptor are of one form.
  func order(_ a: SortKey, _ b: SortKey) -> ComparisonResult {
    switch (a, b) {
    case (.any(let a), .any(let b)): return compare(a, to: b)
    case (.value(let a), .value(let b)):
      guard let keyed = self as? KeyedSortDescriptor else { return .orderedSame }
      return keyed.directed(keyed.order(a, b))
    default: return .orderedSame
    }
  }
}
