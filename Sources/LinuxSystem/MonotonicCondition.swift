import Glibc

/// A lock with a condition to wait for. Its time limits are those of the monotonic clock: setting the system's clock
/// makes no wait longer or shorter (pthread_condattr_setclock(3)).
///
/// `@unchecked Sendable`: the two objects are made for use by many threads, and their addresses never change.
package final class MonotonicCondition: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  package func lock() { pthread_mutex_lock(mutex) }
  package func unlock() { pthread_mutex_unlock(mutex) }

  package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Wakes one of those that wait.
  package func signal() { pthread_cond_signal(condition) }

  /// Wakes all that wait.
  package func broadcast() { pthread_cond_broadcast(condition) }

  /// Waits to be woken, with the lock held before and after. May return without a reason.
  package func wait() { pthread_cond_wait(condition, mutex) }

  /// Waits to be woken, or until ``Clock/now`` has come to that time; false when the time is over.
  package func wait(until end: Double) -> Bool {
    let whole = max(0, end).rounded(.down)
    var time = timespec(tv_sec: Int(whole), tv_nsec: Int((max(0, end) - whole) * 1e9))
    return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
  }
}
