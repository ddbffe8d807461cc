import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// The pool's side of the status socket: answers requests, and tells observers what has ended or was saved.
final class StatusService {
  /// Up to this many changed jobs are named one by one in the log; of more only the number is logged.
  private static let namedJobs = 20

  private let core: PoolCore
  private let supervisor: Supervisor
  private let ready: ReadyJobs
  private var server: StatusServer?
  /// Replaces the pool's program; `PoolServer` sets it.
  var reexec: (StatusRequest, StatusServer.Client) -> Void = { _, _ in }
  /// Requests that wait for the store, with how many jobs they have changed already.
  private var tickets = Tickets<(client: StatusServer.Client, count: Int)>()
  /// The names of the users who may ask, by their IDs.
  private var userNames: [UInt32: String] = [:]
  let collector: StatusCollector
  let metrics: MetricsFile
  let names: NameCheck
  let submissions: SubmissionWaiters
  let deletions: JobDeletions
  let explanations: JobExplanations
  /// The pools that share the store.
  let others: OtherPools

  init(
    _ core: PoolCore, _ supervisor: Supervisor, ready: ReadyJobs, survivors: Survivors, checkpoints: WALCheckpoints,
    collector: StatusCollector
  ) {
    self.core = core
    self.supervisor = supervisor
    self.ready = ready
    self.collector = collector
    metrics = MetricsFile(core, collector)
    names = NameCheck(core, supervisor)
    submissions = SubmissionWaiters(core)
    explanations = JobExplanations(core, supervisor)
    deletions = JobDeletions(core, survivors, checkpoints)
    others = OtherPools(core, collector)
    others.publish = { [weak self] event in self?.server?.publish(event) ?? false }
  }

  /// Takes requests from now on: the URIs of jobs are known. Without a status socket no command could stop the pool, so
  /// it ends.
  func start() {
    // The list of users may be at a server that does not answer.
    core.loop.blocking.run(on: "the list of users") {
      Dictionary(uniqueKeysWithValues: Set([geteuid(), 0]).compactMap { id in UserName.of(id).map { (id, $0) } })
    } then: { [weak self] in
      self?.userNames = $0
    }
    do {
      let path = QueueLayout(root: core.configuration.queue).statusSocket
      let inherited = core.configuration.handover?.statusSocket
      defer { if let inherited { close(inherited) } }
      server = try StatusServer(path: path, inherited: inherited, loop: core.loop, log: core.log) {
        [weak self] request, client in
        self?.answer(request, client)
      }
    } catch {
      core.log(
        .trouble, "the pool ends, because no command could stop it: its status socket cannot be opened: \(error)")
      core.fail(.failed)
    }
  }

  /// The socket on which requests come.
  var listeningSocket: Int32? { server?.descriptor }

  /// Whether clients other than this one wait for the reply to a request.
  func hasRequests(but asking: StatusServer.Client) -> Bool { server?.hasRequests(but: asking) ?? false }

  /// Makes the socket again if it was removed or replaced. Returns whether that was needed.
  func listenAgainIfNeeded() throws(SystemCallError) -> Bool { try server?.listenAgainIfNeeded() ?? false }

  /// Writes what waits for clients, once for each turn of the loop.
  func flush() { server?.flush() }

  // MARK: Observers

  /// Tells observers of a save.
  func publish(_ change: SavedChange, _ objects: [ObjectURI]) {
    server?.publish(change, objects)
    others.tell(StatusReply(saved: .init(change: change.rawValue, objects: objects.map(\.description))))
  }

  /// Tells observers that attempts of these jobs have ended.
  func publish(ended jobs: [JobKey]) {
    server?.publish(ended: core.coordinator.jobURIs.texts(jobs))
    others.tell(StatusReply(ended: core.coordinator.jobURIs.texts(jobs)))
  }

  /// Pools have come or gone.
  func changed(_ members: [PoolMember], ownIdentity: Int64) {
    others.changed(members, ownIdentity: ownIdentity, hasObservers: server?.hasObservers ?? false)
  }

  // MARK: Requests

  private func answer(_ request: StatusRequest, _ client: StatusServer.Client) {
    core.coordinator.now = Clock.now
    switch request.command {
    case .status: status(request, client)
    case .pause, .resume: pause(request, client)
    case .scale: scale(request, client)
    case .stop: stop(request, client)
    case .reload:
      note("told to reload the plugins", requester(request, client))
      supervisor.reload()
      client.reply(StatusReply())
    case .reexec:
      note("told to replace its program", requester(request, client))
      reexec(request, client)
    case .nudge:
      core.source.takeFiles(nil)
      ready.promoteDueJobs()
      core.refetchJobs()
      client.reply(StatusReply())
    case .cancel: withJobs(of: request, client) { cancel($0, requester(request, client), client) }
    case .retry: withJobs(of: request, client) { retry($0, requester(request, client), client) }
    case .delete:
      withJobs(of: request, client) { deletions.delete($0, as: request, by: requester(request, client), for: client) }
    case .explain where request.jobs == nil: explanations.explainAll(client)
    case .explain: withJobs(of: request, client) { explanations.explain($0, client) }
    case .check: names.check(request, client)
    case .submission: submissions.wait(request, client)
    case .checkpoint: core.source.checkpoint(.inPause, ticket: tickets.issue(to: (client, 0)))
    case .observe:
      client.observe()
      // What other pools save from the reply on reaches the client.
      others.ask(request) { _ in client.reply(StatusReply()) }
    }
  }

  private func note(_ what: String, _ requester: Requester) {
    core.log(LogRecord(event: .note, text: "\(what), \(requester.text)", fields: requester.fields))
  }

  private func requester(_ request: StatusRequest, _ client: StatusServer.Client) -> Requester {
    Requester(userID: client.userID, userName: userNames[client.userID], webUser: request.webUser)
  }

  /// Seconds for a store that is known not to answer: the kernel is asked for the processes meanwhile.
  private static let shortTimeout = 0.1

  private func status(_ request: StatusRequest, _ client: StatusServer.Client) {
    let deadline = request.deadline ?? StatusRequest.patience
    guard request.local != true, !others.members.isEmpty else { return replyStatus(client, within: deadline) }
    others.ask(StatusRequest(.status), writtenWithin: deadline) { [weak self] replies in
      guard let self else { return }
      let answered = replies.compactMap(\.status).sorted { ($0.host ?? "", $0.pid) < ($1.host ?? "", $1.pid) }
      let running = answered.flatMap(\.workers).flatMap(\.running).compactMap { core.coordinator.jobURIs.key($0) }
      // A store that has not taken the question does not answer the next one either.
      let seconds = others.lastQuestionWasUnwritten ? Self.shortTimeout : deadline
      replyStatus(client, within: seconds, others: answered, alsoRunning: running)
    }
  }

  private func replyStatus(
    _ client: StatusServer.Client, within seconds: Double, others: [PoolStatus]? = nil,
    alsoRunning jobs: [JobKey] = []
  ) {
    collector.collectForReaders(alsoRunning: jobs, within: seconds) {
      var status = $0
      status.others = others
      client.reply(StatusReply(status: status))
    }
  }

  /// Seconds beyond their deadline that other pools have to be gone.
  private static let timeToEnd = 15.0

  private func stop(_ request: StatusRequest, _ client: StatusServer.Client) {
    let deadline = request.deadline ?? core.configuration.stopDeadline
    note("told to stop", requester(request, client))
    guard request.all == true, !others.members.isEmpty else {
      client.reply(StatusReply(count: request.all == true ? 0 : nil))
      return core.stopAsTold(deadline)
    }
    // What the others give back stays in the store.
    core.coordinator.close()
    others.stop(request, within: deadline + Self.timeToEnd) { [core] ended, left in
      let error = "\(left) of \(ended + left) other pools have not ended; `workerpool status` names them"
      client.reply(StatusReply(ok: left == 0, error: left == 0 ? nil : error, count: ended))
      core.stopAsTold(deadline)
    }
  }

  /// The store has done what a request asked for.
  func replied(_ ticket: Int, count: Int, _ error: String?) {
    guard let asked = tickets.redeem(ticket) else { return }
    let isSome = error == nil || asked.count > 0
    asked.client.reply(StatusReply(ok: isSome, error: isSome ? nil : error, count: asked.count + count))
  }

  private func pause(_ request: StatusRequest, _ client: StatusServer.Client) {
    guard request.queue == nil || request.kind == nil else {
      let error = "\(request.command.rawValue) takes a queue or a kind, not both: send one request for each"
      return client.reply(StatusReply(ok: false, error: error))
    }
    let scope = request.queue.map(PauseScope.queue) ?? request.kind.map(PauseScope.kind) ?? .everything
    let isPause = request.command == .pause
    if isPause { core.coordinator.pause(scope) } else { core.coordinator.resume(scope) }
    core.source.savePauses(core.coordinator.pauses, ticket: tickets.issue(to: (client, 0)))
    let what = request.queue.map { "queue \($0)" } ?? request.kind.map { "kind \($0)" } ?? "everything"
    let requester = requester(request, client)
    core.log(
      LogRecord(
        event: isPause ? .poolPaused : .poolResumed,
        text: "\(what) \(isPause ? "is paused" : "goes on"), \(requester.text)", fields: requester.fields))
  }

  private func scale(_ request: StatusRequest, _ client: StatusServer.Client) {
    guard let count = request.count, count >= 0 else {
      return client.reply(StatusReply(ok: false, error: "scale needs a count of 0 or more"))
    }
    if let unknown = request.plugin.flatMap(names.unknownPlugin) {
      let hint = unknown.nearest == nil ? "; there are \(names.plugins.joined(separator: ", "))" : unknown.hint
      return client.reply(StatusReply(ok: false, error: "there is no plugin \(unknown.name)\(hint)"))
    }
    note("told to keep \(count) \(request.plugin.map { "\($0) " } ?? "")workers", requester(request, client))
    supervisor.scale(to: count, plugin: request.plugin)
    client.reply(StatusReply())
  }

  // MARK: Jobs

  /// Jobs in a worker's hand are cancelled through it; the others in the store.
  private func cancel(_ jobs: [JobKey], _ requester: Requester, _ client: StatusServer.Client) {
    core.log(Self.record(.jobCancelled, of: jobs, "will be cancelled", by: requester, uris: core.coordinator.jobURIs))
    let inHand = jobs.filter { core.coordinator.hands.jobs[$0] != nil }
    for job in inHand { core.coordinator.cancel(job) }
    let notInHand = jobs.filter { core.coordinator.hands.jobs[$0] == nil }
    core.coordinator.forget(notInHand)
    guard !notInHand.isEmpty else { return client.reply(StatusReply(count: inHand.count)) }
    // A worker of another pool that runs one of them is asked to stop, too. Its save would fail anyway.
    if !others.members.isEmpty {
      others.ask(StatusRequest(.cancel, jobs: core.coordinator.jobURIs.texts(notInHand))) { _ in }
    }
    core.source.cancel(notInHand, ticket: tickets.issue(to: (client, inHand.count)))
  }

  private func retry(_ jobs: [JobKey], _ requester: Requester, _ client: StatusServer.Client) {
    core.log(Self.record(.jobRetried, of: jobs, "will run again", by: requester, uris: core.coordinator.jobURIs))
    core.source.retry(jobs, ticket: tickets.issue(to: (client, 0)))
  }

  /// Goes on with the jobs that a request names, each once. A request that names none, or anything else, gets an error.
  private func withJobs(of request: StatusRequest, _ client: StatusServer.Client, _ body: ([JobKey]) -> Void) {
    let texts = request.jobs ?? []
    let uris = texts.compactMap { ObjectURI($0) }
    guard !uris.isEmpty, uris.count == texts.count else {
      return client.reply(StatusReply(ok: false, error: "jobs must be one object URI or more"))
    }
    let jobs = uris.map(core.coordinator.jobURIs.key)
    if let stranger = jobs.firstIndex(of: nil) {
      return client.reply(StatusReply(ok: false, error: "\(uris[stranger]) is not a job of this pool"))
    }
    var named: Set<JobKey> = []
    body(jobs.compactMap(\.self).filter { named.insert($0).inserted })
  }

  /// The record of a request to change jobs; many jobs are not named one by one.
  static func record(
    _ event: LogEvent, of jobs: [JobKey], _ what: String, by requester: Requester, uris: JobURIs
  ) -> LogRecord {
    let names = jobs.count == 1 ? "\(uris[jobs[0]])" : "\(jobs.count) jobs"
    let fields: [LogField] = jobs.count <= namedJobs ? [.jobs(uris.texts(jobs))] : []
    return LogRecord(
      event: event, text: "\(names) \(what), \(requester.text)",
      fields: fields + [.count(jobs.count)] + requester.fields)
  }
}

/// Names of users.
private enum UserName {
  /// Nil for a user whom the system's list lacks.
  static func of(_ id: uid_t) -> String? {
    var entry = passwd()
    var result: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard getpwuid_r(id, &entry, &buffer, buffer.count, &result) == 0, result != nil else { return nil }
    return entry.pw_name.map { String(cString: $0) }
  }
}
