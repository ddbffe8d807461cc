/// A store that reads and writes through connections.
package protocol ConnectedStore: ObjectStore {
  /// Makes the running statements fail, from any thread.
  func interrupt()

  /// Frees memory that holds what can be read again, as far as nobody uses it now. From any thread.
  func releaseMemory()

  /// Returns when all earlier commits are on the disk of the store's server, if commits do not wait for it themselves.
  func synchronizeCommits() throws

  /// The time by the clock of the store's server; nil for a store without one, or one that was never reached.
  var serverDate: Date? { get }

  /// What the clock of the store's server shows between the call and the return; nil for a store without one.
  func readServerClock() throws -> Date?

  /// Those of the server's advisory locks that a session holds; none for a store without a server.
  func heldLocks(among numbers: [Int64]) throws -> Set<Int64>
}

extension ConnectedStore {
  package func synchronizeCommits() {}
  package var serverDate: Date? { nil }
  package func readServerClock() -> Date? { nil }
  package func heldLocks(among numbers: [Int64]) -> Set<Int64> { [] }
}
