/// A store that follows which of its objects contexts have (`StoredEntities.isFollowed`).
package protocol FollowingStore: ObjectStore {
  /// Called with the IDs of objects that a context has from now on.
  func contextDidRegister(_ ids: [NSManagedObjectID])

  /// Called with the IDs of objects that a context no longer has.
  func contextDidUnregister(_ ids: [NSManagedObjectID])
}
