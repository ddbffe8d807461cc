/// Locking by the user of a context, from before contexts had queues.
extension NSManagedObjectContext {
  /// Waits for the lock that users of the context share. Nothing here takes it.
  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func lock() { legacyLock.lock() }

  /// Gives the lock back.
  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func unlock() { legacyLock.unlock() }

  /// Takes the lock if it is free; false if it is not.
  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func tryLock() -> Bool { legacyLock.try() }
}
