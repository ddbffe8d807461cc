import Foundation
import LinuxSystem
import PoolClient

let reportCommand = CommandDescription(
  name: "report", summary: "Write the plots and failures of a period into an HTML file",
  discussion: """
    The file needs no network and no script. It tells of the jobs that are still in the store.

      workerpool report --since 24h --output report.html
    """,
  options: [
    CommandOption(
      name: "since", value: "TIME", help: "the length of the period up to now: 90min, 24h, 7d", defaultText: "24h"),
    CommandOption(name: "output", value: "FILE", help: "the file, which is replaced", defaultText: "report.html"),
    CommonOptions.store, CommonOptions.queue,
  ],
  run: report)

/// Turns this process into `workerpool-web`, which has the plots.
@Sendable private func report(_ arguments: ParsedArguments) throws -> ExitCode {
  let since = arguments.string("since") ?? "24h"
  guard let seconds = seconds(since) else {
    throw UsageError("--since must be a number of min, h or d up to 3660d, as in 90min, 24h or 7d, not \"\(since)\"")
  }
  try BesideProgram.become(
    "workerpool-web",
    ["report", "--store", try arguments.storePath(), "--queue", arguments.queue, "--seconds", String(seconds)]
      + ["--output", arguments.string("output") ?? "report.html"])
}

/// The seconds of `90min`, `24h` or `7d`.
private func seconds(_ text: String) -> Int? {
  for (unit, length) in [("min", 60), ("h", 3600), ("d", 86_400)] where text.hasSuffix(unit) {
    guard let count = Int(text.dropLast(unit.count)), (1...(3660 * 86_400 / length)).contains(count) else { return nil }
    return count * length
  }
  return nil
}
