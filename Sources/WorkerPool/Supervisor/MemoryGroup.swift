import Glibc
import LinuxSystem

/// The control group of one worker.
struct MemoryGroup: Codable, Equatable, Sendable {
  let folder: String
  /// Bytes.
  let limit: Int

  /// How the worker ended, where its group tells more than the signal.
  ///
  /// `oom_kill` also counts kills because the machine, or a group around this one, had no memory left; `oom` counts
  /// only how often this group had reached its limit.
  func cause(of death: Death) -> Death {
    guard death == .signalled(SIGKILL), events("oom") > 0, events("oom_kill") > 0 else { return death }
    return .reachedMemoryLimit(limit)
  }

  private func events(_ name: String) -> Int {
    let lines = (KernelFile.text(folder + "/memory.events") ?? "").split(separator: "\n")
    let words = lines.map { $0.split(separator: " ") }.first { $0.first == Substring(name) }
    return words?.last.flatMap { Int($0) } ?? 0
  }
}
