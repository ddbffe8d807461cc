import Glibc
import TestFiles
import Testing

@Suite struct ExitTestMonitorTests {
  /// Given a child that has ended and is not reaped, when an exit test ends, then Swift Testing hears of it.
  @Test(.timeLimit(.minutes(20))) func exitTestsEndBesideAChildThatIsNotReaped() async throws {
    let child = try endedChild()
    await #expect(processExitsWith: .success) {}
    var status: Int32 = 0
    #expect(waitpid(child, &status, 0) == child && status == 0)
  }

  /// A process in a group of its own, as Foundation starts them, that has ended.
  private func endedChild() throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var child: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
    defer { free(arguments[0]) }
    try #require(posix_spawnp(&child, "true", nil, &attributes, &arguments, environ) == 0)
    var information = siginfo_t()
    try #require(waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) == 0)
    return child
  }
}
