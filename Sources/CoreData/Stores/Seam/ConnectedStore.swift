/// A store that reads and writes through connections.
package protocol ConnectedStore: ObjectStore {
  /// Makes the running statements fail, from any thread.
  func interrupt()

  /// Frees memory that holds what can be read again, as far as nobody uses it now. From any thread.
  func releaseMemory()
}
