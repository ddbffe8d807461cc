/// The objects that came to a context and left it since their stores were last told, for stores that follow their
/// objects (`StoredEntities.isFollowed`).
///
/// Used on the context's queue.
///
/// Apple's incremental stores count in `managedObjectContextDidRegisterObjects(with:)` and
/// `managedObjectContextDidUnregisterObjects(with:)` how many contexts have an object, and drop cached rows of objects
/// that none has. So calls have to come in pairs, and arrivals before departures.
final class Registrations {
  private var arrivals: [NSManagedObjectID] = []
  private var departures: [NSManagedObjectID] = []

  /// Only for an object whose store follows its objects.
  func noteArrival(of object: NSManagedObject) { arrivals.append(object.objectID) }

  /// Does nothing for an object whose store does not follow its objects.
  func noteDeparture(of object: NSManagedObject) {
    if object.storedEntity.isFollowed { departures.append(object.objectID) }
  }

  /// Tells the stores. An object that left and came back is told as registered first, so that a store that counts keeps
  /// its row.
  func tell() {
    // A store may use contexts while it is told.
    let (arrivals, departures) = (self.arrivals, self.departures)
    (self.arrivals, self.departures) = ([], [])
    for ids in byStore(arrivals) { followingStore(of: ids)?.contextDidRegister(ids) }
    for ids in byStore(departures) { followingStore(of: ids)?.contextDidUnregister(ids) }
  }

  /// The store of IDs that `byStore` has put together; nil if it was removed from its coordinator.
  private func followingStore(of ids: [NSManagedObjectID]) -> (any FollowingStore)? {
    ids[0].objectStore as? any FollowingStore
  }

  /// The IDs of each store, in their order.
  private func byStore(_ ids: [NSManagedObjectID]) -> [[NSManagedObjectID]] {
    var groups: [(reference: StoreReference?, ids: [NSManagedObjectID])] = []
    for id in ids {
      let reference = id.storedEntity.storeReference
      if let index = groups.firstIndex(where: { $0.reference === reference }) {
        groups[index].ids.append(id)
      } else {
        groups.append((reference, [id]))
      }
    }
    return groups.map(\.ids)
  }
}
