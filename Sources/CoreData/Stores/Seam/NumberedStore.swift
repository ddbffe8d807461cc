/// A store that numbers its rows, and gives no number twice. A store of an app's own class has references instead.
package protocol NumberedStore: ObjectStore {
  /// The last key that the store has given to a row of the entity's hierarchy, which may be gone; 0 for none.
  func lastKey(of storedEntity: StoredEntity) throws -> Int64

  /// Gives new rows of the entity's hierarchy only keys after this one. Called in a transaction.
  func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws
}
