/// A store at a server, which programs share and where they have to know of each other.
package protocol SessionStore: ObjectStore {
  /// Opens a session with the store's server.
  func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> any StoreSession

  /// Returns when all earlier commits are on the disk of the store's server, if commits do not wait for it themselves.
  func synchronizeCommits() throws

  /// The time by the clock of the store's server; nil if it was never reached.
  var serverDate: Date? { get }
}
