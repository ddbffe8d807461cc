import Dispatch
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
}
