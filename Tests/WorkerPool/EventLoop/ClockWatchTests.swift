import CSystem
import Foundation
import Glibc
import Testing

@testable import WorkerPool

@Suite struct ClockWatchTests {
  /// No test may set the machine's clock: the kernel says what the descriptor waits for (proc(5), fdinfo;
  /// timerfd_create(2)).
  @Test func theKernelTellsWhenTheSystemsClockIsSet() throws {
    let watch = try ClockWatch()
    let text = try String(contentsOfFile: "/proc/self/fdinfo/\(watch.descriptor)", encoding: .utf8)
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines.contains(["clockid:", "\(CLOCK_REALTIME)"]), "\(text)")
    // TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET.
    #expect(lines.contains(["settime", "flags:", "03"]), "\(text)")
    #expect(!watch.collect())
    var ready = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ready, 1, 0) == 0)
  }
}
