import Foundation
import LinuxSystem
import TestFiles
import Testing

@Suite struct FairFileLockTests {
  /// A process that has just had the lock comes after one that waits, however soon it asks again.
  ///
  ///     one                     other
  ///     has the lock
  ///                             waits at the door
  ///     releases the lock
  ///     wants it again          has it
  ///     has it
  @Test(.timeLimit(.minutes(20))) func whoWaitsIsNext() throws {
    let path = temporaryURL("lock").path
    defer { unlink(path) }
    let one = try FairFileLock(path: path)
    for _ in 1...50 {
      let turns = Turns()
      let other = try FairFileLock(path: path)
      let thread = Thread {
        other.hold { turns.note("other") }
        turns.done.signal()
      }
      try one.hold {
        turns.note("one")
        thread.start()
        try waitUntilTheDoorIsLocked(path)
      }
      one.hold { turns.note("one") }
      turns.done.wait()
      #expect(turns.names == ["one", "other", "one"])
    }
  }

  /// one                         | other
  /// ----------------------------+-----------------------------
  /// has the lock                |
  ///                             | waits, gives up after 20 ms
  /// releases the lock           |
  ///                             | has it
  @Test func whoGivesUpLeavesThePlaceAtTheDoor() throws {
    let path = temporaryURL("lock").path
    defer { unlink(path) }
    let (one, other) = (try FairFileLock(path: path), try FairFileLock(path: path))
    one.hold {
      let failure = #expect(throws: SystemCallError.self) { try other.take(withinMilliseconds: 20) }
      #expect(failure?.number == EAGAIN)
    }
    try other.take(withinMilliseconds: 20)
    other.release()
    one.hold {}
  }

  /// A thread keeps the timer that limits its waits. It interrupts each wait, and none that has no limit.
  ///
  ///     one                     other (one thread)
  ///     has the lock
  ///                             waits, gives up after 20 ms, twice
  ///                             waits without a limit
  ///     releases the lock
  ///                             has it
  @Test(.timeLimit(.minutes(20))) func aThreadsWaitsAreLimitedOneByOne() throws {
    let path = temporaryURL("lock").path
    defer { unlink(path) }
    let (one, other) = (try FairFileLock(path: path), try FairFileLock(path: path))
    let turns = Turns()
    let gaveUp = DispatchSemaphore(value: 0)
    let thread = Thread {
      for _ in 1...2 {
        do throws(SystemCallError) {
          try other.take(withinMilliseconds: 20)
          turns.note("other, too early")
        } catch {
          turns.note(error.number == EAGAIN ? "gives up" : "\(error)")
        }
      }
      gaveUp.signal()
      other.hold { turns.note("other") }
      turns.done.signal()
    }
    try one.hold {
      thread.start()
      gaveUp.wait()
      try waitUntilTheDoorIsLocked(path)
      turns.note("one")
    }
    turns.done.wait()
    #expect(turns.names == ["gives up", "gives up", "one", "other"])
  }

  @Test func aFileThatCannotBeMadeIsNamed() throws {
    let path = temporaryURL("missing").path + "/lock"
    let failure = #expect(throws: FileError.self) { try FairFileLock(path: path) }
    #expect(failure?.path == path && failure?.errno == ENOENT)
  }

  /// `@unchecked Sendable`: only the holder of the lock changes `names`; it is read at the end.
  private final class Turns: @unchecked Sendable {
    private(set) var names: [String] = []
    let done = DispatchSemaphore(value: 0)

    func note(_ name: String) { names.append(name) }
  }

  private func waitUntilTheDoorIsLocked(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    var lock = flock()
    repeat {
      sched_yield()
      lock = flock(
        l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: Int(FairFileLock.Part.door.rawValue), l_len: 1,
        l_pid: 0)
      // F_OFD_GETLK of fcntl(2): whether a lock would block.
      try #require(fcntl(descriptor, 36, &lock) == 0)
    } while lock.l_type == Int16(F_UNLCK)
  }
}
