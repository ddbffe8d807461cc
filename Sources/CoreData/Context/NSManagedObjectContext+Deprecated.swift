/// What is left of the time when the user of a context locked it.
extension NSManagedObjectContext {
  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func lock() { legacyLock.lock() }

  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func unlock() { legacyLock.unlock() }

  @available(*, deprecated, message: "Use perform(_:) or performAndWait(_:).")
  public final func tryLock() -> Bool { legacyLock.try() }
}
