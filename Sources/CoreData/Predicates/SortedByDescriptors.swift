extension Array {
  /// The elements in the order of the descriptors, each key read once for each element. Equal elements stay in order.
  func sorted(by descriptors: [NSSortDescriptor]) -> [Element] {
    if descriptors.isEmpty { return self }
    let keys = map { element in descriptors.map { $0.sortKey(of: element) } }
    let order = indices.sorted { first, second in
      for (position, descriptor) in descriptors.enumerated() {
        switch descriptor.order(keys[first][position], keys[second][position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return first < second
    }
    return order.map { self[$0] }
  }
}

/// What a sort descriptor compares: a value brought to its kind, or whatever its own code wants.
enum SortKey {
  case value(PredicateValue)
  case any(Any)
}

extension NSSortDescriptor {
  func sortKey(of element: Any) -> SortKey {
    guard let keyed = self as? KeyedSortDescriptor, keyed.block == nil else { return .any(element) }
    return .value(keyed.value(of: element))
  }

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
