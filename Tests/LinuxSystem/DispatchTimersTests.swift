import Dispatch
import Foundation
import Glibc
import LinuxSystem
import Testing

@Suite struct DispatchTimersTests {
  /// Without the call this process ends with SIGILL at its timer.
  @Test func aTimerFiresWhereNoDescriptorIsLeft() async {
    await #expect(processExitsWith: .exitCode(7)) {
      DispatchTimers.open()
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(1) }
      while dup(0) >= 0 {}
      let hasFired = DispatchSemaphore(value: 0)
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) { hasFired.signal() }
      hasFired.wait()
      exit(7)
    }
  }

  /// Dispatch counts the threads of a global queue once a second, from its first use on. The timers use none, so its
  /// other threads sleep: they wake for the timer, and not once for each of the five seconds before it.
  @Test func anIdleProcessDoesNotWake() async {
    await #expect(processExitsWith: .exitCode(7)) {
      DispatchTimers.open()
      let before = wakeUpsOfOtherThreads()
      let hasFired = DispatchSemaphore(value: 0)
      DispatchTimers.after(5.5) { hasFired.signal() }
      hasFired.wait()
      exit(wakeUpsOfOtherThreads() - before < 5 ? 7 : 1)
    }
  }
}

/// The voluntary context switches of this process's threads but the calling one. Source: proc(5).
private func wakeUpsOfOtherThreads() -> Int {
  let own = ProcessInfo.processInfo.processIdentifier
  var count = 0
  // A thread may end meanwhile.
  for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] where thread != "\(own)"
  {
    let text = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
    count += line.flatMap { Int($0.split(whereSeparator: \.isWhitespace).last ?? "") } ?? 0
  }
  return count
}
