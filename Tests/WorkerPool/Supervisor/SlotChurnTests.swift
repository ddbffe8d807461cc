import Testing

@testable import WorkerPool

/// Plugins, slots and jobs in simulated time, to count the processes that the plan has started.
private struct SimulatedSlots {
  struct Process {
    let plugin: String
    let upAt: Double
    /// When the job in hand is over.
    var busyUntil = 0.0
  }

  static let startTime = 0.2

  let slots: Int
  let plugins: [String]
  /// Seconds between two plans.
  let tick: Double
  var now = 0.0
  var processes: [Process] = []
  /// Lengths of the jobs that wait, in seconds.
  var waiting: [String: [Double]] = [:]
  var history = DemandHistory()
  /// When processes were started, and of which plugin.
  var starts: [(time: Double, plugin: String)] = []

  init(slots: Int, plugins: [String], tick: Double = 0.005) {
    self.slots = slots
    self.plugins = plugins
    self.tick = tick
  }

  mutating func add(_ count: Int, of plugin: String, seconds: Double) {
    waiting[plugin, default: []] += Array(repeating: seconds, count: count)
  }

  mutating func run(seconds: Double) {
    for _ in 0..<Int((seconds / tick).rounded()) { advance() }
  }

  /// Jobs are handed out, then the plan is carried out.
  private mutating func advance() {
    now += tick
    for index in processes.indices where processes[index].upAt <= now {
      let plugin = processes[index].plugin
      // Short jobs are done one after the other.
      while processes[index].busyUntil <= now, let job = waiting[plugin]?.popLast() {
        processes[index].busyUntil = max(processes[index].busyUntil, now - tick) + job
      }
    }
    let seen = plugins.map { history.note(state(of: $0), now: now) }
    let targets = SlotPlan.targets(total: slots, plugins: seen)
    for name in plugins { reduce(name, to: targets[name] ?? 0) }
    for name in plugins {
      for _ in 0..<max(0, (targets[name] ?? 0) - count(name)) where processes.count < slots { start(name) }
    }
  }

  private func count(_ name: String) -> Int { processes.count { $0.plugin == name } }

  private func state(of name: String) -> SlotPlan.Plugin {
    let ofPlugin = processes.filter { $0.plugin == name }
    return SlotPlan.Plugin(
      name: name, demand: waiting[name]?.count ?? 0, busy: ofPlugin.count { $0.busyUntil > now },
      current: ofPlugin.count, age: ofPlugin.map { now - $0.upAt }.max() ?? 0)
  }

  private mutating func reduce(_ name: String, to target: Int) {
    while count(name) > target {
      let ofPlugin = processes.indices.filter { processes[$0].plugin == name }
      guard let index = ofPlugin.min(by: { processes[$0].busyUntil < processes[$1].busyUntil }) else { return }
      processes.remove(at: index)
    }
  }

  private mutating func start(_ name: String) {
    processes.append(Process(plugin: name, upAt: now + Self.startTime))
    starts.append((now, name))
    history.started(name)
    history.cameUp(name, after: Self.startTime)
  }

  func starts(after time: Double) -> Int { starts.count { $0.time > time } }
}

/// A process is a costly thing: it moves from one plugin to another only when that pays.
@Suite struct SlotChurnTests {
  /// Two plugins, four slots, and short jobs of one of them in bursts.
  @Test(arguments: [0.0005, 0.002, 0.0035]) func burstsOfShortJobsMoveNoProcessOnceItIsSteady(length: Double) {
    var pool = SimulatedSlots(slots: 4, plugins: ["busy", "idle"])
    for _ in 0..<150 {
      pool.add(200, of: "busy", seconds: length)
      pool.run(seconds: 0.2)
    }
    #expect(pool.starts.count <= 4 + 7, "\(pool.starts)")
    #expect(pool.starts(after: 10) == 0, "\(pool.starts)")
    #expect(pool.waiting["busy"]?.isEmpty == true, "the jobs are done")
  }

  /// Both plugins have jobs in turn.
  @Test func burstsOfTwoPluginsMoveNoProcessOnceItIsSteady() {
    for slots in 2...4 {
      var pool = SimulatedSlots(slots: slots, plugins: ["one", "other"])
      for _ in 0..<150 {
        pool.add(20, of: "one", seconds: 0.001)
        pool.run(seconds: 0.1)
        pool.add(20, of: "other", seconds: 0.001)
        pool.run(seconds: 0.1)
      }
      #expect(pool.starts.count <= slots + 1 && pool.starts(after: 1) == 0, "\(slots) slots: \(pool.starts)")
    }
  }

  /// One slot for two: they take turns, and a turn is long enough to pay for the start.
  @Test func oneSlotForTwoBusyPluginsMovesOncePerTurn() {
    var pool = SimulatedSlots(slots: 1, plugins: ["one", "other"])
    for _ in 0..<300 {
      pool.add(5, of: "one", seconds: 0.001)
      pool.add(5, of: "other", seconds: 0.001)
      pool.run(seconds: 0.1)
    }
    let seconds = 300 * 0.1
    #expect(Double(pool.starts.count) <= seconds / SlotPlan.turn + 1, "\(pool.starts)")
    #expect(Set(pool.starts.map(\.plugin)) == ["one", "other"])
  }

  /// A job of a plugin each minute, beside one with a job now and then: each keeps the process that it has, also in the
  /// company of plugins that have nothing to do.
  @Test func aJobEachMinuteTakesTheProcessOfNobodyWhoUsesIt() {
    for plugins in [["import", "maintain"], ["exec", "export", "import", "index", "maintain"]] {
      var pool = SimulatedSlots(slots: 2, plugins: plugins, tick: 0.02)
      for minute in 0..<10 {
        pool.add(1, of: "maintain", seconds: 0.05)
        for second in 0..<60 {
          if second % 7 == 3 { pool.add(minute % 3 + 1, of: "import", seconds: 0.2) }
          pool.run(seconds: 1)
        }
      }
      #expect(pool.starts(after: 65) == 0, "\(plugins): \(pool.starts)")
    }
  }

  /// While jobs of another plugin wait all the time, the process comes and goes with its job: twice a minute is worth
  /// it.
  @Test func besideALongBacklogAPeriodicJobCostsTwoStartsAMinute() {
    var pool = SimulatedSlots(slots: 2, plugins: ["import", "maintain"], tick: 0.02)
    pool.add(100_000, of: "import", seconds: 0.05)
    for _ in 0..<10 {
      pool.add(1, of: "maintain", seconds: 0.05)
      pool.run(seconds: 60)
    }
    #expect(pool.starts(after: 60) <= 2 * 9, "\(pool.starts)")
    #expect((pool.waiting["import"]?.count ?? 0) < 100_000 - 600 * 20, "more than one process works on it")
  }

  /// One that is needed every few seconds stays.
  @Test func aProcessThatIsUsedEveryFewSecondsStaysBesideALongBacklog() {
    var pool = SimulatedSlots(slots: 2, plugins: ["import", "mail"], tick: 0.02)
    pool.add(100_000, of: "import", seconds: 0.05)
    for _ in 0..<30 {
      pool.add(1, of: "mail", seconds: 0.05)
      pool.run(seconds: 8)
    }
    #expect(pool.starts(after: 1) == 0, "\(pool.starts)")
  }

  /// Plugins that always have work share one slot: each gets its turns.
  @Test func oneSlotForThreeBusyPluginsPassesOverNone() {
    var pool = SimulatedSlots(slots: 1, plugins: ["a", "b", "c"], tick: 0.01)
    for plugin in pool.plugins { pool.add(10_000, of: plugin, seconds: 0.05) }
    pool.run(seconds: 60)
    for plugin in pool.plugins { #expect(pool.waiting[plugin]?.count ?? 0 < 9700, "\(plugin): \(pool.starts)") }
  }

  @Test func aLongBacklogGetsAllSlots() {
    var pool = SimulatedSlots(slots: 4, plugins: ["a", "b", "c", "d", "e"])
    pool.run(seconds: 1)
    pool.add(10_000, of: "e", seconds: 0.1)
    pool.run(seconds: 3)
    #expect(pool.processes.map(\.plugin) == ["e", "e", "e", "e"])
  }
}
