import WorkerProtocol

/// The known facts about one worker process, for people.
///
/// ```swift
/// import PoolClient
///
/// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
///   for worker in status.workers { print(WorkerStory.lines(worker).joined(separator: "\n")) }
/// }
/// ```
///
/// `workerpool workers show PID` prints the same. The lines are escaped for terminals.
public enum WorkerStory {
  /// The lines of the story: the worker, what it runs, its last output, and what can be done.
  ///
  /// - Parameter reader: for whom commands are written.
  public static func lines(_ worker: PoolStatus.Worker, reader: AdviceReader = .plain) -> [String] {
    let process = worker.pid.map { ", process \($0)" } ?? ", which is being started"
    var lines = ["worker \(worker.id)\(process)", "plugin     \(worker.plugin), \(worker.path)"]
    lines.append(
      "phase      \(worker.phase); started \(StatusText.duration(worker.age)) ago"
        + (worker.isRetiring ? ", will be replaced" : ""))
    lines.append("jobs       \(worker.jobsDone) done, holds \(worker.holding) of \(worker.credit)")
    for job in worker.running { lines.append("runs       \(job)") }
    if let wait = worker.waitsForStore.flatMap({ StoreWait(rawValue: $0) }).flatMap(StoreWaitText.text) {
      lines.append("waits      to \(worker.running.isEmpty ? "begin a job" : "save its job"): \(wait)")
    }
    if let busy = worker.busy { lines.append("busy       \(StatusText.duration(busy))") }
    if let done = worker.progressDone, let total = worker.progressTotal {
      lines.append("progress   \(done) of \(total)")
    }
    if let memory = worker.memory { lines.append("memory     \(StatusText.size(memory))") }
    if let seconds = worker.processorTime { lines.append("processor  \(StatusText.decimal(seconds)) s") }
    if !worker.lastLines.isEmpty {
      lines += ["", "last lines of its standard error"] + worker.lastLines.map { "  | \($0)" }
    }
    let name = worker.running.first.flatMap { ObjectURI($0)?.name }
    lines += ["", "what can be done"]
    if let name {
      let advice: Advice =
        "  \(.workerpool("jobs", "show", name)) tells of its job, \(.cancel(name)) ends it"
      lines.append(advice.text(for: reader))
    }
    if let pid = worker.pid { lines.append("  kill -QUIT \(pid) makes it print its stacks into the pool's log") }
    return lines.map(TerminalText.escaped)
  }
}
