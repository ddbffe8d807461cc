/// A session with the server of a store, for programs that share the store and have to know of each other. An addition
/// to Apple's API.
///
/// While the session lasts it holds a lock. The server releases the lock when the session ends, in whatever way: those
/// who wait for it learn at that moment that the program is gone. The session hears of the rows that the store
/// announces: see `NSPersistentStoreAnnouncedKey`.
package protocol StoreSession: AnyObject, Sendable {
  /// Waits for a lock, on a connection of its own, and holds it until the result is released. Equal numbers are one
  /// lock in the whole database.
  ///
  /// - Parameter body: called on another thread, once when the lock is held and once more when it was lost by a
  ///   failure; never after the result's `release()` has returned.
  func wait(for lock: Int64, _ body: @escaping @Sendable (StoreLockEvent) -> Void) -> any StoreLockHold

  /// What tells the store from others of the same database, also from copies of it.
  var place: String { get }

  /// Ends the session. Nothing is reported any more.
  func close()
}

/// A lock that a session waits for or holds.
package protocol StoreLockHold: AnyObject, Sendable {
  /// Ends the wait, or releases the lock. Any thread.
  func release()
}

/// What happened to a wait for a lock.
package enum StoreLockEvent: Sendable {
  /// The lock is held.
  ///
  /// - Parameter afterWaiting: whether another session was seen to hold it: that one has ended now. Otherwise nobody
  ///   held the lock at the first look, since the beginning or since all sessions ended.
  case held(afterWaiting: Bool)
  /// The connection failed; the lock is not held any more.
  case failed(String)
}

/// What a session reports.
package enum StoreSessionEvent: Sendable {
  /// Rows of these entities were announced, by anybody.
  case announced(Set<String>)
  /// The session has ended: the lock is released. The last event.
  case lost(String)
}

/// A lock that a session should hold is held by another one.
package struct StoreLockTaken: Error {
  package init() {}
}
