import Jobs
import LinuxSystem
import Synchronization
import WorkerProtocol

/// Times the work on the store, so that the pool can report work that takes very long, most often because another
/// process has the store locked; and remembers that the store's disk was full, which at a server nothing else tells.
///
/// It sets no timer. The pool asks ``takeDelay()`` from a timer of its own between ``beginWatch()`` and
/// ``endWatch()``.
final class StoreWatch: Sendable {
  /// Seconds after which work counts as slow and is reported.
  static let timeout = 3.0
  /// Seconds for which a disk counts as full after a write that found it so: within them, what could not be written is
  /// tried again.
  static let fullFor = 10.0

  private struct State {
    /// Work that was asked for and is not done.
    var pending = 0
    /// Whether the pool has a timer.
    var isWatched = false
    /// Whether work has come since it was set that the loop did not ask for. More may come, and the timer goes on.
    var hasUnseenWork = false
    /// When the work under way should be done, in seconds of the monotonic clock; taken out when it was reported.
    var deadlines: [Int: Double] = [:]
    var lastNumber = 0
    /// When a write found the disk full last.
    var foundFullAt: Double?
  }

  private let state = Mutex(State())

  /// Notes that work is asked for, before it is handed to its queue. Returns whether the pool has no timer yet.
  ///
  /// - Parameter isUnseen: whether the loop does not know of it.
  @discardableResult
  func expect(isUnseen: Bool = false) -> Bool {
    state.withLock { state in
      state.pending += 1
      if isUnseen { state.hasUnseenWork = true }
      return !state.isWatched
    }
  }

  /// Notes that it is over.
  func finish() { state.withLock { $0.pending -= 1 } }

  /// Whether there is work.
  var isBusy: Bool { state.withLock { $0.pending > 0 } }

  /// Whether there is work and no timer: the caller sets it then.
  func beginWatch() -> Bool {
    state.withLock { state in
      guard state.pending > 0, !state.isWatched else { return false }
      state.isWatched = true
      return true
    }
  }

  /// Whether the timer is needed no more before it has come: an idle pool does not wake up for it.
  func cancelWatch() -> Bool {
    state.withLock { state in
      guard state.isWatched, state.pending == 0, !state.hasUnseenWork else { return false }
      state.isWatched = false
      return true
    }
  }

  /// The pool's timer has fired. Returns the seconds after which it has to fire again; nil if there is no work, and no
  /// timer is needed.
  func endWatch() -> Double? {
    state.withLock { state in
      state.isWatched = state.pending > 0
      state.hasUnseenWork = false
      guard state.isWatched else { return nil }
      return state.deadlines.values.min().map { max(0, $0 - Clock.now) } ?? Self.timeout
    }
  }

  /// Runs a part of the work that may have to wait, on the thread of the caller.
  ///
  /// - Parameter size: seconds that it may take in addition, since there is much to do.
  func during<T>(size: Double = 0, _ work: () throws -> T) rethrows -> T {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.deadlines[state.lastNumber] = Clock.now + Self.timeout + size
      return state.lastNumber
    }
    defer { state.withLock { $0.deadlines[number] = nil } }
    do {
      return try work()
    } catch {
      if StoreWait(error) == .full { state.withLock { $0.foundFullAt = Clock.now } }
      throw error
    }
  }

  /// Whether the disk of the store is full, as far as writes have found. SQLite and a server say so with an error.
  var isDiskFull: Bool { state.withLock { $0.foundFullAt.map { Clock.now - $0 < Self.fullFor } ?? false } }

  /// Whether some work takes too long and was not reported before. Asking counts as reporting it.
  func takeDelay() -> Bool {
    state.withLock { state in
      let late = state.deadlines.filter { $0.value <= Clock.now }.keys
      for number in late { state.deadlines[number] = nil }
      return !late.isEmpty
    }
  }
}
