import Jobs
import LinuxSystem
import PoolClient

/// Tells clients why a ready job is not handed out, and who holds its place.
final class JobExplanations {
  /// How many holders of a place are named.
  private static let namedHolders = 5

  private let core: PoolCore
  private let supervisor: Supervisor
  private var tickets = Tickets<(client: StatusServer.Client, job: JobKey)>()
  /// What a job has used in its last attempt, if that was measured.
  var use: (JobKey) -> ResourceUse? = { _ in nil }

  init(_ core: PoolCore, _ supervisor: Supervisor) {
    self.core = core
    self.supervisor = supervisor
  }

  /// Answers when the store has read the job's row.
  func explain(_ jobs: [JobKey], _ client: StatusServer.Client) {
    guard jobs.count == 1 else {
      return client.reply(StatusReply(ok: false, error: "explain takes one job"))
    }
    core.source.readReady(jobs[0], ticket: tickets.issue(to: (client, jobs[0])))
  }

  /// Answers with what keeps the pool, kinds, queues and limit keys.
  func explainAll(_ client: StatusServer.Client) {
    var obstacles: [JobObstacle] = []
    if let obstacle = core.coordinator.poolObstacle {
      obstacles.append(JobObstacle(obstacle, kind: "", hasWorker: true))
    }
    let kinds = core.coordinator.kinds.states.keys.sorted()
    for kind in kinds {
      guard let obstacle = core.coordinator.obstacle(ofKind: kind) else { continue }
      obstacles.append(JobObstacle(obstacle, kind: kind, hasWorker: true))
    }
    obstacles += core.coordinator.groupObstacles().map { JobObstacle($0, kind: "", hasWorker: true) }
    for kind in core.coordinator.claims?.heldBack.sorted() ?? [] {
      obstacles.append(JobObstacle(.sharedLimit, kind: kind, hasWorker: true))
    }
    for kind in kinds where !hasWorker(for: kind) {
      obstacles.append(JobObstacle(.workersBusy, kind: kind, hasWorker: false))
    }
    let answer = PoolObstacles(uriPrefix: core.coordinator.jobURIs.prefix, kinds: kinds, obstacles: obstacles)
    var reply = StatusReply()
    reply.obstacles = answer
    client.reply(reply)
  }

  /// The store has read the row; nil for a job that is not ready, or not there.
  func read(_ ticket: Int, _ job: WindowJob?) {
    guard let (client, key) = tickets.redeem(ticket) else { return }
    var reply = StatusReply()
    reply.obstacle = job.flatMap { job in core.coordinator.obstacle(to: job).map { describe($0, job) } }
    reply.use = use(key)
    client.reply(reply)
  }

  private func describe(_ obstacle: Obstacle, _ job: WindowJob) -> JobObstacle {
    var description = JobObstacle(obstacle, kind: job.kind, hasWorker: hasWorker(for: job.kind))
    if case .rate(let rate, let time) = obstacle {
      description.rate = "\(rate.jobs) in \(Clock.text(rate.period))"
      description.seconds = time.map { max(0, $0 - core.coordinator.now) }
    }
    if obstacle == .workersBusy {
      description.ahead = core.coordinator.countAhead(of: job)
      description.weight = core.coordinator.weights.share(of: job.queue)
    }
    let holders = core.coordinator.holders(of: obstacle, for: job)
    description.holders = holders.prefix(Self.namedHolders).map { held in
      JobObstacle.Holder(
        job: core.coordinator.jobURIs[held.job.key].description, worker: held.worker.number,
        pid: supervisor.workers[held.worker]?.pid, busy: held.begunAt.map { core.coordinator.now - $0 })
    }
    description.otherHolders =
      holders.count - description.holders.count + core.coordinator.survivorJobs(holding: obstacle, for: job)
    return description
  }

  private func hasWorker(for kind: String) -> Bool {
    core.coordinator.hands.workers.all.values.contains { $0.kinds.contains(kind) }
  }
}

extension JobObstacle {
  fileprivate init(_ obstacle: Obstacle, kind: String, hasWorker: Bool) {
    switch obstacle {
    case .paused(.everything): self.init(.poolPaused)
    case .paused(.queue(let queue)): self.init(.queuePaused, name: queue)
    case .paused(.kind(let kind)): self.init(.kindPaused, name: kind)
    case .stopping: self.init(.stopping)
    case .survivors: self.init(.survivors)
    case .noPlugin: self.init(.noPlugin, name: kind)
    case .kindLimit(let limit): self.init(.kindLimit, name: kind, limit: limit)
    case .rate: self.init(.rate, name: kind)
    case .full(.queue(let queue), let limit): self.init(.queueLimit, name: queue, limit: limit)
    case .full(.key(let key), let limit): self.init(.keyLimit, name: key, limit: limit)
    case .sharedLimit: self.init(.sharedLimit, name: kind)
    case .alone: self.init(.alone)
    case .inHand: self.init(.inHand)
    case .workersBusy: self.init(hasWorker ? .workersBusy : .noWorker, name: kind)
    }
  }
}
