import Glibc

/// A mark that a process bears and passes on to all that it starts, in a new session and with an empty environment too.
///
/// It is the soft limit of RLIMIT_LOCKS, which every process inherits over fork(2) and execve(2), and which Linux has
/// not enforced since 2.4.25 (getrlimit(2)). A process of the same user can take its own mark away, but not by mistake.
package struct ProcessMark: Equatable, Sendable {
  /// The name's hash, above the bits of the marked process's ID. Process IDs are below 2^22 (proc(5), `pid_max`).
  let bits: UInt64

  private static let pidBits: UInt64 = 22

  /// The mark of processes with a common name.
  package init(_ name: String) {
    // FNV-1a.
    let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    // Neither 0 nor the number that means "unlimited".
    bits = (hash >> 25 | 1) << Self.pidBits
  }

  /// The ID of the process that got this mark when it was started, for it and for those that descend from it; nil for
  /// others.
  ///
  /// Source: proc(5), `/proc/PID/limits`.
  package func process(of pid: pid_t) -> pid_t? {
    guard let line = ProcFile.text(pid, "limits")?.split(separator: "\n").first(where: { $0.hasPrefix(Self.limit) }),
      let value = line.dropFirst(Self.limit.count).split(separator: " ").first.flatMap({ UInt64($0) }),
      value >> Self.pidBits == bits >> Self.pidBits
    else { return nil }
    return pid_t(value & (1 << Self.pidBits - 1))
  }

  private static let limit = "Max file locks"
}
