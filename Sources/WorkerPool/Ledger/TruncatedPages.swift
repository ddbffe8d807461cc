import Glibc
import Synchronization

/// Ranges of memory in which SIGBUS does not end the process: files that another process may truncate are mapped there.
enum TruncatedPages {
  /// Ranges at a time; those beyond are not guarded.
  private static let most = 256
  private static let pageSize = UInt(sysconf(Int32(_SC_PAGESIZE)))

  /// First and last address of each range; two zeros where there is none.
  ///
  /// `nonisolated(unsafe)`: allocated once and never freed. Words are written under `lock` only. The signal handler
  /// reads them, and finds each range that was guarded before its pages were touched.
  private nonisolated(unsafe) static let ranges: UnsafeMutablePointer<UInt> = {
    let words = UnsafeMutablePointer<UInt>.allocate(capacity: 2 * most)
    words.initialize(repeating: 0, count: 2 * most)
    return words
  }()

  /// What handled SIGBUS before.
  ///
  /// `nonisolated(unsafe)`: allocated once, written before the handler is in force, and only read after that.
  private nonisolated(unsafe) static let earlier: UnsafeMutablePointer<sigaction> = {
    let action = UnsafeMutablePointer<sigaction>.allocate(capacity: 1)
    action.initialize(to: sigaction())
    sigaction(SIGBUS, nil, action)
    return action
  }()

  private static let lock = Mutex(false)

  /// Returns the number with which ``forget(_:)`` ends it.
  static func guardRange(_ start: UnsafeMutableRawPointer, size: Int) -> Int? {
    lock.withLock { isInstalled in
      if !isInstalled { install() }
      isInstalled = true
      guard let slot = (0..<most).first(where: { ranges[2 * $0] == 0 }) else { return nil }
      // The end first: the handler must not see a range without it.
      ranges[2 * slot + 1] = UInt(bitPattern: start) + UInt(size)
      ranges[2 * slot] = UInt(bitPattern: start)
      return slot
    }
  }

  static func forget(_ slot: Int) {
    lock.withLock { _ in
      ranges[2 * slot] = 0
      ranges[2 * slot + 1] = 0
    }
  }

  private static func install() {
    // The handler must not be the first to use these: their first use takes a lock.
    _ = (ranges, earlier, pageSize)
    var action = sigaction()
    action.sa_flags = SA_SIGINFO
    action.__sigaction_handler.sa_sigaction = { _, info, _ in
      let address = UInt(bitPattern: info?.pointee._sifields._sigfault.si_addr)
      if !TruncatedPages.replacePage(at: address) {
        // The instruction runs again, and what handled the signal before gets it.
        sigaction(SIGBUS, TruncatedPages.earlier, nil)
      }
    }
    sigaction(SIGBUS, &action, nil)
  }

  /// Calls mmap(2) alone, which is a plain system call. False for an address that is not guarded.
  private static func replacePage(at address: UInt) -> Bool {
    var index = 0
    while index < most {
      if ranges[2 * index] != 0, ranges[2 * index] <= address, address < ranges[2 * index + 1] {
        let page = UnsafeMutableRawPointer(bitPattern: address & ~(pageSize - 1))
        let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS) | MAP_FIXED
        return mmap(page, Int(pageSize), PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED
      }
      index += 1
    }
    return false
  }
}
