import Jobs
import LinuxSystem
import PoolClient

/// Tells hooks of kinds whose jobs could run and do not, and of those that run again.
final class StallWatch {
  private let core: PoolCore
  private let collector: StatusCollector
  private var stalls: Stalls

  init(_ core: PoolCore, _ collector: StatusCollector) {
    self.core = core
    self.collector = collector
    stalls = Stalls(limit: core.configuration.stalledAfter)
  }

  /// Looks from time to time, where a hook wants to know.
  func start() {
    let isWanted = core.configuration.hooks.contains { !$0.events.isDisjoint(with: [.stalled, .recovered]) }
    guard isWanted, !core.isStopping else { return }
    core.loop.timers.after(core.configuration.stalledAfter / 5) { [weak self] in
      self?.collector.collect { [weak self] status in
        self?.look(at: status)
        self?.start()
      }
    }
  }

  private func look(at status: PoolStatus) {
    // Without the store's answer it is not known what waits.
    guard let backlog = status.backlog, !core.isStopping else { return }
    var kinds: [String: Stalls.Kind] = [:]
    for group in backlog where group.state == JobState.available.name && group.queue != JobHook.queue {
      let isPaused = status.isPaused || status.pausedQueues.contains(group.queue)
      kinds[group.kind, default: Stalls.Kind()].ready += isPaused ? 0 : group.count
    }
    core.coordinator.now = Clock.now
    let begun = Set(core.coordinator.hands.jobs.values.filter { $0.begunAt != nil }.map(\.job.kind))
    for kind in Set(kinds.keys).union(stalls.kinds) {
      var state = kinds[kind] ?? Stalls.Kind()
      let times = core.coordinator.statistics.kinds[kind]
      state.progress = [times?.waiting, times?.running].reduce(0) { $0 + ($1?.counts.reduce(0, +) ?? 0) }
      state.isRunning = begun.contains(kind)
      state.mustWait = mustWait(kind)
      kinds[kind] = state
    }
    for change in stalls.note(kinds, now: Clock.now) {
      let members = [
        JSONMember("kind", .string(change.kind)), JSONMember("ready", .number(change.ready)),
        JSONMember("seconds", .number(change.seconds.rounded())),
        JSONMember("advice", .array(StatusAdvice.lines(status).map(JSONValue.string))),
      ]
      core.source.tellHooks(change.isStalled ? .stalled : .recovered, members)
    }
  }

  /// Whether a pause, a limit or a rate keeps the jobs of a kind waiting, or another pool may run them.
  private func mustWait(_ kind: String) -> Bool {
    switch core.coordinator.poolObstacle ?? core.coordinator.obstacle(ofKind: kind) {
    case .paused, .stopping, .kindLimit, .rate, .sharedLimit: true
    case .noPlugin: core.coordinator.claims != nil
    default: core.coordinator.claims?.heldBack.contains(kind) == true || core.coordinator.waitsForRoom(kind)
    }
  }
}

/// Which kinds are stalled.
struct Stalls {
  /// How a kind stands.
  struct Kind {
    /// Jobs that could run now.
    var ready = 0
    /// Grows when a job begins, and when one ends.
    var progress = 0
    var isRunning = false
    /// Whether a pause, a limit or a rate keeps the jobs waiting.
    var mustWait = false
  }

  /// A kind is stalled now, or is not any more.
  struct Change: Equatable {
    let kind: String
    let isStalled: Bool
    let ready: Int
    /// For how long it has stood still.
    let seconds: Double
  }

  private struct Wait {
    var since: Double
    var progress: Int
    var isStalled = false
  }

  /// Seconds without progress.
  let limit: Double
  private var waits: [String: Wait] = [:]
  private var lastNote: Double?

  init(limit: Double) { self.limit = limit }

  /// The kinds that are watched: their jobs wait.
  var kinds: Set<String> { Set(waits.keys) }

  /// Notes how the kinds stand now, all that have ready jobs and all that are watched.
  mutating func note(_ kinds: [String: Kind], now: Double) -> [Change] {
    // A pool that was stopped, or got no answer from the store, for a while does not know whether jobs could run then.
    if let gap = lastNote.map({ now - $0 }), gap > limit / 2 {
      for name in waits.keys where waits[name]?.isStalled == false { waits[name]?.since += gap }
    }
    lastNote = now
    var changes: [Change] = []
    for (name, kind) in kinds.sorted(by: { $0.key < $1.key }) {
      guard var wait = waits[name] else {
        if kind.ready > 0 { waits[name] = Wait(since: now, progress: kind.progress) }
        continue
      }
      if kind.ready == 0 && !kind.mustWait || kind.isRunning || kind.progress != wait.progress {
        if wait.isStalled {
          changes.append(Change(kind: name, isStalled: false, ready: kind.ready, seconds: now - wait.since))
        }
        waits[name] = kind.ready > 0 ? Wait(since: now, progress: kind.progress) : nil
        continue
      }
      if wait.isStalled { continue }
      if kind.mustWait {
        wait.since = now
      } else if now - wait.since >= limit {
        wait.isStalled = true
        changes.append(Change(kind: name, isStalled: true, ready: kind.ready, seconds: now - wait.since))
      }
      waits[name] = wait
    }
    return changes
  }
}
