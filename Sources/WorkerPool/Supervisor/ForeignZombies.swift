import Glibc
import LinuxSystem

/// Dead children of this process that it did not start: orphans come to the first process of a container, and to a
/// subreaper.
enum ForeignZombies {
  /// Takes their exit status, so that the kernel forgets them.
  static func reap(except ownChildren: Set<pid_t>, startedBy threads: Set<pid_t>) {
    for pid in OwnChildren.all(except: threads) where !ownChildren.contains(pid) && !ProcFile.isAlive(pid) {
      var status: Int32 = 0
      waitpid(pid, &status, WNOHANG)
    }
  }
}
