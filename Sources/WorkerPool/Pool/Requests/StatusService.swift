import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Answers to the requests of the status socket.
extension PoolServer {
  func answer(_ request: StatusRequest, _ client: StatusServer.Client) {
    coordinator.now = Clock.now
    switch request.command {
    case .status: look { client.reply(StatusReply(status: $0)) }
    case .pause, .resume:
      let scope = request.queue.map(PauseScope.queue) ?? request.kind.map(PauseScope.kind) ?? .everything
      if request.command == .pause { coordinator.pause(scope) } else { coordinator.resume(scope) }
      source.savePauses(coordinator.pauses, ticket: ticket(client))
      log(
        request.command == .pause ? .poolPaused : .poolResumed,
        "\(request.queue.map { "queue \($0)" } ?? request.kind.map { "kind \($0)" } ?? "everything") "
          + (request.command == .pause ? "is paused" : "goes on"))
    case .scale:
      guard let count = request.count, count >= 0 else {
        return client.reply(StatusReply(ok: false, error: "scale needs a count of 0 or more"))
      }
      if let plugin = request.plugin, !supervisor.plugins.contains(where: { $0.name == plugin }) {
        let names = supervisor.plugins.map(\.name)
        let hint = Spelling.nearest(to: plugin, among: names).map { "did you mean \($0)?" }
        return client.reply(
          StatusReply(
            ok: false,
            error: "there is no plugin \(plugin); \(hint ?? "there are \(names.joined(separator: ", "))")"))
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
      coordinator.lookForWaitingJobs()
      client.reply(StatusReply())
    case .cancel: cancel(request.jobs ?? [], client)
    case .retry:
      guard let jobs = jobs(request.jobs ?? [], client) else { return }
      log(record(.jobRetried, jobs, "to run again"))
      source.retry(jobs, ticket: ticket(client))
    case .check: check(request, client)
    case .delete: delete(request, client)
    case .submission: askForSubmission(request, client)
    case .checkpoint: source.checkpoint(.inPause, ticket: ticket(client))
    case .observe:
      client.observe()
      client.reply(StatusReply())
    }
  }

  /// What a person wants done with jobs, for the log: many of them are not named one by one.
  func record(_ event: LogEvent, _ jobs: [JobKey], _ what: String) -> LogRecord {
    let names = jobs.count == 1 ? "\(coordinator.jobURIs[jobs[0]]) is" : "\(jobs.count) jobs are"
    let fields: [LogField] = jobs.count <= Self.namedJobs ? [.jobs(coordinator.jobURIs.texts(jobs))] : []
    return LogRecord(event: event, text: "\(names) \(what)", fields: fields + [.count(jobs.count)])
  }

  private static let namedJobs = 20

  /// Jobs in a worker's hand are cancelled through it; the others in the store.
  private func cancel(_ texts: [String], _ client: StatusServer.Client) {
    guard let jobs = jobs(texts, client) else { return }
    log(record(.jobCancelled, jobs, "to be cancelled"))
    let inHand = jobs.filter { coordinator.held[$0] != nil }
    for job in inHand { coordinator.cancel(job) }
    let others = jobs.filter { coordinator.held[$0] == nil }
    coordinator.forget(others)
    guard !others.isEmpty else { return client.reply(StatusReply(count: inHand.count)) }
    source.cancel(others, ticket: ticket(client, count: inHand.count))
  }

  /// The jobs that a request names. Replies to a request that names none, or anything else, and returns nil.
  func jobs(_ texts: [String], _ client: StatusServer.Client) -> [JobKey]? {
    let uris = texts.compactMap { ObjectURI($0) }
    guard !uris.isEmpty, uris.count == texts.count else {
      client.reply(StatusReply(ok: false, error: "jobs must be one object URI or more"))
      return nil
    }
    let jobs = uris.map(coordinator.jobURIs.key)
    if let stranger = jobs.firstIndex(of: nil) {
      client.reply(StatusReply(ok: false, error: "\(uris[stranger]) is no job of this pool"))
      return nil
    }
    return jobs.compactMap(\.self)
  }

  /// Tells observers that attempts of these jobs have ended.
  func publish(ended jobs: [JobKey]) { statusServer?.publish(ended: coordinator.jobURIs.texts(jobs)) }

  func ticket(_ client: StatusServer.Client, count: Int = 0) -> Int {
    lastTicket += 1
    tickets[lastTicket] = (client, count)
    return lastTicket
  }
}
