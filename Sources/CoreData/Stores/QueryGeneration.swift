/// A coordinator's stores as they were at one moment. Stores are pinned one after the other, not at the same instant.
///
/// `@unchecked Sendable`: everything is set in `init`.
final class QueryGeneration: @unchecked Sendable {
  /// The coordinator.
  private(set) weak var owner: AnyObject?
  private var pinned: [ObjectIdentifier: any PinnedStore] = [:]

  /// Pins what the stores have now. Those that cannot be pinned stay as they are.
  init(_ stores: [any ObjectStore], of owner: AnyObject) throws {
    self.owner = owner
    for store in stores { pinned[ObjectIdentifier(store)] = try store.pin(beside: Array(pinned.values)) }
  }

  /// What a store has pinned; nil where it is read as it is now.
  func pinned(_ store: any ObjectStore) -> (any PinnedStore)? { pinned[ObjectIdentifier(store)] }
}

/// A store as it was at one moment, which only the store itself can read.
protocol PinnedStore: AnyObject, Sendable {
  /// The rows that were read in this state. They never change.
  var rowCache: RowCache { get }
}
