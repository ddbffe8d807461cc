import Foundation
import TestFiles
import Testing

@testable import CoreData

@Suite struct WriteTurnTests {
  /// A process that has just written comes after one that waits, however soon it asks again.
  ///
  ///     one                     other
  ///     has the turn
  ///                             waits at the door
  ///     passes the turn on
  ///     wants it again          has it
  ///     has it
  @Test(.timeLimit(.minutes(20))) func whoWaitsIsNext() throws {
    let path = temporaryURL("turn").path
    defer { unlink(path) }
    let one = try WriteTurn(path: path)
    for _ in 1...50 {
      let turns = Turns()
      let other = try WriteTurn(path: path)
      let thread = Thread {
        other.take { turns.note("other") }
        turns.done.signal()
      }
      try one.take {
        turns.note("one")
        thread.start()
        try waitUntilSomebodyIsAtTheDoor(path)
      }
      one.take { turns.note("one") }
      turns.done.wait()
      #expect(turns.names == ["one", "other", "one"])
    }
  }

  /// `@unchecked Sendable`: only the holder of the turn changes `names`; it is read at the end.
  private final class Turns: @unchecked Sendable {
    private(set) var names: [String] = []
    let done = DispatchSemaphore(value: 0)

    func note(_ name: String) { names.append(name) }
  }

  private func waitUntilSomebodyIsAtTheDoor(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    var lock = flock()
    repeat {
      sched_yield()
      lock = flock(
        l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: WriteTurn.Part.door.rawValue, l_len: 1, l_pid: 0)
      // F_OFD_GETLK of fcntl(2): whether a lock would block.
      try #require(fcntl(descriptor, 36, &lock) == 0)
    } while lock.l_type == Int16(F_UNLCK)
  }
}
