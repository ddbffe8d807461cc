/// The states of a coordinator's stores at one moment. Stores are pinned one after the other, not at the same instant.
///
/// `@unchecked Sendable`: everything is set in `init`.
///
/// A context that was told to pin itself (`setQueryGenerationFrom(.current)`) makes one with its next read. Contexts
/// share it by its token. It is freed with the last of them; a store's log can start over then.
package final class QueryGeneration: @unchecked Sendable {
  /// The coordinator.
  private(set) weak var owner: AnyObject?
  private var pinned: [ObjectIdentifier: any PinnedStore] = [:]

  /// Pins the current states of the stores. Stores that cannot be pinned are read as they are.
  init(_ stores: [any ObjectStore], of owner: AnyObject) throws {
    self.owner = owner
    for store in stores { pinned[ObjectIdentifier(store)] = try store.pin(beside: Array(pinned.values)) }
  }

  /// The pinned state of a store; nil if it is read as it is.
  package func pinned(_ store: any ObjectStore) -> (any PinnedStore)? { pinned[ObjectIdentifier(store)] }
}

/// A store's state at one moment, which only the store itself can read.
package protocol PinnedStore: AnyObject, Sendable {
  /// The rows read in this state, which never change.
  var rowCache: RowCache { get }
}
