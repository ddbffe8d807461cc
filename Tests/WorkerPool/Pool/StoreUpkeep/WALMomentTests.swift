import Foundation
import Glibc
import TestFiles
import Testing

@testable import WorkerPool

/// The state of a store's log, by which an idle pool sees whether a process may have written to the store.
@Suite struct WALMomentTests {
  private let store = temporaryURL("app.sqlite").path
  private var log: String { store + "-wal" }

  /// Sets the time of the log to that many seconds ago.
  private func age(_ seconds: Int) {
    var times = [timespec(), timespec()]
    clock_gettime(CLOCK_REALTIME, &times[0])
    times[0].tv_sec -= seconds
    times[1] = times[0]
    utimensat(AT_FDCWD, log, times, 0)
  }

  @Test func aStoreWithoutALogHasNone() {
    #expect(WALMoment(ofStore: store) == nil)
  }

  /// A write a moment after this one may get the same time, so only an old time proves that nobody has written.
  @Test func onlyAnOldTimeProvesThatNobodyHasWritten() throws {
    defer { unlink(log) }
    try Data("frames".utf8).write(to: URL(fileURLWithPath: log))
    #expect(try !#require(WALMoment(ofStore: store)).isOld)
    age(60)
    let before = try #require(WALMoment(ofStore: store))
    #expect(before.isOld && WALMoment(ofStore: store) == before)
    age(5)
    let after = try #require(WALMoment(ofStore: store))
    #expect(after.isOld && after != before)
  }
}
