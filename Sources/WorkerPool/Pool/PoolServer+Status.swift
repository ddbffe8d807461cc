import Foundation
import Glibc
import WorkerProtocol

/// Answers to the requests of the status socket.
extension PoolServer {
  func answer(_ request: StatusRequest, _ client: StatusServer.Client) {
    coordinator.now = Clock.now
    switch request.command {
    case .status: source.count(ticket: ticket(client, status()))
    case .pause, .resume:
      let scope = request.queue.map(PauseScope.queue) ?? request.kind.map(PauseScope.kind) ?? .everything
      if request.command == .pause { coordinator.pause(scope) } else { coordinator.resume(scope) }
      source.savePause(queues: coordinator.pausedQueues)
      client.reply(StatusReply())
    case .scale:
      guard let count = request.count, count >= 0 else {
        return client.reply(StatusReply(ok: false, error: "scale needs a count of 0 or more"))
      }
      if let plugin = request.plugin, !supervisor.plugins.contains(where: { $0.name == plugin }) {
        let names = supervisor.plugins.map(\.name).joined(separator: ", ")
        return client.reply(StatusReply(ok: false, error: "there is no plugin \(plugin); there are \(names)"))
      }
      supervisor.scale(to: count, plugin: request.plugin)
      client.reply(StatusReply())
    case .stop:
      client.reply(StatusReply())
      stop(deadline: request.deadline ?? configuration.stopDeadline)
    case .reload:
      supervisor.reload()
      client.reply(StatusReply())
    case .nudge:
      source.takeFiles(nil)
      lookForDueJobs()
      coordinator.lookForNewJobs()
      client.reply(StatusReply())
    case .cancel: cancel(request.jobs ?? [], client)
    case .retry:
      guard let jobs = uris(request.jobs ?? [], client) else { return }
      source.retry(jobs, ticket: ticket(client, nil))
    case .observe:
      client.observe()
      client.reply(StatusReply())
    }
  }

  /// Jobs in a worker's hand are cancelled through it; the others in the store.
  private func cancel(_ texts: [String], _ client: StatusServer.Client) {
    guard let jobs = uris(texts, client) else { return }
    let inHand = jobs.filter { coordinator.held[$0] != nil }
    for job in inHand { coordinator.cancel(job) }
    let others = jobs.filter { coordinator.held[$0] == nil }
    coordinator.forget(others)
    guard !others.isEmpty else { return client.reply(StatusReply(count: inHand.count)) }
    source.cancel(others, ticket: ticket(client, nil))
  }

  private func uris(_ texts: [String], _ client: StatusServer.Client) -> [ObjectURI]? {
    let uris = texts.compactMap { ObjectURI($0) }
    guard !uris.isEmpty, uris.count == texts.count else {
      client.reply(StatusReply(ok: false, error: "jobs must be one object URI or more"))
      return nil
    }
    return uris
  }

  private func ticket(_ client: StatusServer.Client, _ status: PoolStatus?) -> Int {
    lastTicket += 1
    tickets[lastTicket] = (client, status)
    return lastTicket
  }

  private func status() -> PoolStatus {
    let workers = supervisor.workers.values.sorted { $0.id.number < $1.id.number }.map { worker in
      let known = coordinator.workers[worker.id]
      let running = known?.begun.map(\.description).sorted() ?? []
      let progress = known?.begun.first.flatMap { self.progress[$0] }
      return PoolStatus.Worker(
        id: worker.id.number, plugin: worker.plugin.name, pid: worker.pid, phase: worker.phase.rawValue,
        age: Clock.now - worker.startedAt, credit: known?.credit ?? 0, holding: known?.held.count ?? 0,
        running: running, progressDone: progress?.done, progressTotal: progress?.total)
    }
    let names = Set(supervisor.plugins.map(\.name)).union(supervisor.failures.keys).sorted()
    let plugins = names.map { name in
      let plugin = supervisor.plugins.first { $0.name == name }
      return PoolStatus.Plugin(
        name: name, version: plugin?.description.version, kinds: plugin?.description.kinds.map(\.kind) ?? [],
        workers: workers.count { $0.plugin == name }, failure: supervisor.failures[name].map { "\($0)" })
    }
    let counters = coordinator.counters
    return PoolStatus(
      pid: getpid(), store: URL(fileURLWithPath: configuration.store).path,
      model: URL(fileURLWithPath: configuration.model).path, phase: isStopping ? "stopping" : "running",
      age: Clock.now - startedAt,
      isPaused: coordinator.isPaused, pausedQueues: coordinator.pausedQueues.sorted(),
      pausedKinds: coordinator.pausedKinds.sorted(), workerCount: supervisor.configuration.workers, workers: workers,
      plugins: plugins, waiting: coordinator.waitingByKind,
      counters: .init(
        handedOut: counters.handedOut, done: counters.done, failed: counters.failed, returned: counters.returned,
        crashed: counters.crashed, timedOut: counters.timedOut),
      restarts: supervisor.restarts)
  }
}
