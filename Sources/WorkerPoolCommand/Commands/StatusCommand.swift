import Foundation
import Jobs
import LinuxSystem
import PoolClient
import PoolMetrics
import WorkerPool

let statusCommand = CommandDescription(
  name: "status", summary: "Show how the pool is doing",
  discussion: """
    With --store it shows what is in a store, whether a pool runs on it or not: the objects of each entity and the jobs.
    """,
  options: [
    CommonOptions.queue, CommonOptions.json, CommonOptions.local,
    CommandOption(name: "store", value: "FILE", help: "show what is in this SQLite store, without a pool"),
    CommandOption(
      name: "model", value: "PATH", help: "with --store: its model; without it, the copy that the store keeps"),
    CommandOption(name: "prometheus", help: "print metrics in the text format of Prometheus"),
    CommandOption(
      name: "watch",
      help:
        "go on showing it until the pool stops; on a terminal: q quits, arrows scroll, n b m c d sort the workers, "
        + "? explains the keys"
    ),
    CommandOption(name: "interval", value: "SECONDS", help: "with --watch: time between two updates", defaultText: "1"),
  ],
  run: status)

let workersCommand = CommandDescription(
  name: "workers", summary: "List the worker processes and what they do",
  discussion: "`workerpool workers show PID` tells all that is known of one.",
  operands: [
    Operand(name: "show", help: "tell all about one worker", isOptional: true),
    Operand(name: "PID", help: "its process ID, or its number", isOptional: true),
  ],
  options: [CommonOptions.queue, CommonOptions.json, CommonOptions.local],
  run: workers)

@Sendable private func status(_ arguments: ParsedArguments) throws -> ExitCode {
  let asJSON = arguments.has("json")
  if let store = arguments.string("store") {
    let summary = try StoreSummary(store: store, model: arguments.string("model"))
    if asJSON { Output.line(summary.json.text) } else { summary.lines(Output.layout).forEach(Output.line) }
    return .success
  }
  let pool = try arguments.pool()
  if arguments.has("prometheus") {
    Output.text(PrometheusText.text(try currentStatus(pool, arguments)))
    return .success
  }
  guard arguments.has("watch") else {
    let store = StoreFigures()
    let status = store.completed(try currentStatus(pool, arguments))
    show(status, arguments)
    if !asJSON { store.failures(status).forEach(Output.line) }
    return .success
  }
  let interval = try arguments.seconds("interval", in: 0.01...3600) ?? 1
  let store = StoreFigures()
  do {
    if !asJSON {
      // Before the screen is taken: without a pool there is nothing to watch.
      let first = store.completed(try currentStatus(pool, arguments))
      if let screen = Screen() { return watch(pool, store, first, arguments, on: screen, interval: interval) }
    }
    while true {
      show(store.completed(try currentStatus(pool, arguments)), arguments)
      Thread.sleep(forTimeInterval: interval)
    }
  } catch StatusClient.Failure.noReply {
    return .success
  }
}

/// What a status shows from the pool's store, as far as this user can read it: the pool has answered, and a store that
/// cannot be read hides nothing else.
private final class StoreFigures {
  private var reader: StoreReader?
  private var path: String?
  private var activity = GroupActivity(succeededMinutes: GroupActivity.rateMinutes)

  /// Nil while the pool itself waits for its store, or where the store does not answer at once: a status that tells of
  /// it may not wait for it.
  private func reader(of status: PoolStatus) -> StoreReader? {
    guard status.phase != "opening", status.jobs != nil, status.storeAge == nil else { return nil }
    // The status is worth showing without it.
    if path != status.store { reader = try? StoreReader(poolStore: status.store, timeout: 1) }
    path = status.store
    return reader
  }

  /// The status with what the jobs of each queue and kind did lately.
  func completed(_ status: PoolStatus) -> PoolStatus {
    guard let reader = reader(of: status) else { return status }
    var status = status
    // The pool of a file has its ledger beside it.
    if reader.isShared { reader.note(status) }
    status.addActivity(&activity, in: reader)
    return status
  }

  /// The largest groups of failed jobs, where the status says that there are such jobs.
  func failures(_ status: PoolStatus) -> [String] {
    let states = [JobState.dead, .retryable]
    guard states.contains(where: { status.jobs?[$0.name] ?? 0 > 0 }) else { return [] }
    guard let failures = try? reader(of: status)?.failures(), !failures.groups.isEmpty else { return [] }
    let layout = Output.layout
    return ["", layout.styled("failed jobs", .strong)] + failures.lines(layout, limit: 5)
  }
}

/// Shows the status until the user quits or the pool ends. If the pool ends, it says so.
private func watch(
  _ pool: StatusClient, _ store: StoreFigures, _ first: PoolStatus, _ arguments: ParsedArguments, on screen: Screen,
  interval: Double
) -> ExitCode {
  var content = StatusScreen(reader: arguments.adviceReader)
  var status = first
  while true {
    content.note(status, at: Clock.now)
    let next = Clock.now + interval
    repeat {
      let rows = screen.size.rows
      screen.show(content.lines(status, layout: Output.layout, rows: rows, now: Date()))
      let event = screen.nextEvent(within: max(0, next - Clock.now))
      if content.showsKeys, event != .redraw, event != .quit {
        content.showsKeys = false
        continue
      }
      switch event {
      case .quit:
        screen.close()
        return .success
      case .key("?"): content.showsKeys = true
      case .up: content.scroll(by: -1)
      case .down: content.scroll(by: 1)
      case .pageUp: content.scroll(by: 2 - rows)
      case .pageDown: content.scroll(by: rows - 2)
      case .home: content.scroll(by: -Int(Int32.max))
      case .key(let key): content.order = StatusScreen.Order(rawValue: key) ?? content.order
      case .redraw, .enter, .escape, .backspace: break
      }
    } while Clock.now < next
    do {
      status = store.completed(try currentStatus(pool, arguments))
    } catch {
      screen.close()
      let end: Advice = "pool \(status.pid) does not answer any more; what happened: \(.workerpool("logs"))"
      Output.line(end.text(for: arguments.adviceReader))
      return .success
    }
  }
}

extension ParsedArguments {
  /// Commands that advice names are for the pool that the arguments mean.
  var adviceReader: AdviceReader { AdviceReader(queue: string("queue")) }
}

@Sendable private func workers(_ arguments: ParsedArguments) throws -> ExitCode {
  let workerName = try arguments.shown("a worker: its process ID", of: "workers")
  let status = try currentStatus(try arguments.pool(), arguments)
  if let workerName {
    let workers = ([status] + (status.others ?? [])).flatMap(\.workers)
    guard let worker = workers.first(where: { "\($0.id)" == workerName || $0.pid.map { "\($0)" } == workerName })
    else {
      Output.error("workerpool workers: there is no worker \(workerName); `workerpool workers` lists them\n")
      return .failure
    }
    if arguments.has("json") {
      Output.line(StatusText.json(worker))
    } else {
      WorkerStory.lines(worker, reader: arguments.adviceReader).forEach(Output.line)
    }
    return .success
  }
  if arguments.has("json") {
    for pool in [status] + (status.others ?? []) {
      for worker in pool.workers { Output.line(StatusText.json(HostWorker(host: pool.host, worker: worker))) }
    }
  } else {
    StatusText.workers(status, layout: Output.layout).forEach(Output.line)
  }
  return .success
}

/// A worker with the name of its host, in one JSON object.
private struct HostWorker: Encodable {
  let host: String?
  let worker: PoolStatus.Worker

  func encode(to encoder: any Encoder) throws {
    try worker.encode(to: encoder)
    guard let host else { return }
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(host, forKey: .host)
  }

  private enum Key: String, CodingKey { case host }
}

private func currentStatus(_ pool: StatusClient, _ arguments: ParsedArguments) throws -> PoolStatus {
  let reply = try pool.request(StatusRequest(.status, local: arguments.has("local") ? true : nil))
  guard let status = reply.status else { throw StatusClient.Failure.noReply(reply.error ?? "it sent no status") }
  return status
}

private func show(_ status: PoolStatus, _ arguments: ParsedArguments) {
  if arguments.has("json") {
    Output.line(StatusText.json(status))
  } else {
    StatusText.lines(status, layout: Output.layout, reader: arguments.adviceReader).forEach(Output.line)
  }
}
