import Glibc

/// How long the lock of a process is waited for that is gone: flock(2) of a file or a directory.
///
/// The kernel releases such a lock when the last copy of the holder's descriptor is closed. A killed process closes its
/// files after it has freed its memory, which takes a while where that is much; and a child that it was starting has
/// copies of them until it runs its program.
package struct LockPatience {
  /// Seconds.
  package static let longest = 1.0
  private static let pause: Int32 = 10

  private var end: Double?

  package init() {}

  /// Waits a moment, if the lock may become free soon. Returns whether to try again.
  ///
  /// - Parameter holder: the process that has the lock, as far as is known; nil for one that begins or ends.
  package mutating func waits(for holder: Int32?) -> Bool {
    if let holder, !ProcFile.isGoneOrDying(holder) { return false }
    let now = Clock.now
    let end = end ?? now + Self.longest
    self.end = end
    guard now < end else { return false }
    poll(nil, 0, Self.pause)
    return true
  }
}
