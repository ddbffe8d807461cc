/// How many processes each plugin should have: a pure function of the jobs that wait, the processes that work, and the
/// times of both.
///
/// A process stays with its plugin until jobs of another plugin need its slot, and have needed it for long enough to
/// pay for the start of a new process. A plugin without jobs takes no process from anyone.
///
/// Each time that the plan looks at keeps a promise of the tests of slots, where simulated pools count starts. Without
/// ``keepTime`` two busy plugins on one slot start 135 processes in 30 s in place of 14, and one with a job each 8 s
/// beside a backlog starts two for each job. Without ``Plugin/pressed`` bursts of two plugins move 300 processes in 30
/// s in place of none. Without the time that a start takes, where that is 2 s, they move 123 in place of 5. Without
/// ``Plugin/absent`` the third of three busy plugins on one slot gets none, and without ``turn`` two of them start 6000
/// processes in 30 s in place of 14. A time that grew for a plugin that was missed again and again kept no further
/// promise.
enum SlotPlan {
  /// Seconds that a plugin's last process may work before it makes room for another plugin that has none, at least.
  static let turn = 2.0
  /// Seconds after its last job for which a plugin keeps its last process: more jobs may come.
  static let keepTime = 10.0
  /// A move, and a turn, take this many times as long as a process takes to come up, within these bounds in seconds.
  private static let startsWorth = 4.0
  private static let moveDelays = 1.0...10.0

  /// What is known of a plugin.
  struct Plugin: Equatable {
    var name: String
    /// A number set by hand (`NAME=K`), which the plan keeps.
    var fixed: Int?
    /// Jobs that have not begun, and that would begin if there were a process for each.
    var demand = 0
    /// Processes that hold a job.
    var busy = 0
    /// Processes that there are.
    var current = 0
    /// Seconds since its process came up, where it has only one: the last process of a plugin has a turn.
    var age = 0.0
    /// Seconds since it had a job in hand, and since it had a process.
    var idle = Double.infinity
    var absent = Double.infinity
    /// Seconds for which more jobs have waited than it has idle processes, without a break.
    var pressed = 0.0
    /// Seconds that its processes take to come up.
    var startTime = 0.0
    /// Whether it may get more processes: not while it cannot be started.
    var canStart = true
    /// It may get one only after a while, since its last one has failed.
    var isDelayed = false

    /// Whether it has had work lately, and may have more soon.
    var hasWorkSoon: Bool { current > 0 && (busy > 0 || idle < keepTime) }
    /// Processes that are taken away only in need: those at work, and those that will be at work soon.
    fileprivate var kept: Int { busy + min(max(0, current - busy), demand) }
    /// Seconds of pressure after which a further process is worth its start.
    private var moveDelay: Double { min(max(startsWorth * startTime, moveDelays.lowerBound), moveDelays.upperBound) }
    fileprivate var isPressed: Bool { canStartNow && pressed >= moveDelay }
    fileprivate var canStartNow: Bool { canStart && !isDelayed }
    /// Seconds that others may work before they make room for it.
    fileprivate var othersTurn: Double { max(turn, moveDelay) }
  }

  /// Shares `total` processes out.
  ///
  /// Fixed numbers come first. Free slots go where jobs wait, then to plugins that have no process. Without free slots,
  /// a plugin with jobs and no process gets one at once: one that has no work, one of several of another plugin, or the
  /// last one of a plugin that has had its turn. A plugin that needs more than it has gets processes that others do not
  /// use when its jobs have waited for long enough. A plugin that must always have processes needs a number set by
  /// hand.
  static func targets(total: Int, plugins: [Plugin]) -> [String: Int] {
    let free = plugins.filter { $0.fixed == nil }
    let shared = total - plugins.reduce(0) { $0 + ($1.fixed ?? 0) }
    var shares = Shares(free)
    while shares.total > max(0, shared), let giver = shares.leastNeeded { shares[giver] -= 1 }
    while shares.total < shared, let taker = shares.firstInNeed { shares[taker] += 1 }
    for taker in shares.needy {
      guard let giver = shares.giver(toNeedy: taker) else { continue }
      shares[giver] -= 1
      shares[taker] += 1
    }
    while let taker = shares.pressed, let giver = shares.giver(toPressed: taker) {
      shares[giver] -= 1
      shares[taker] += 1
    }
    var targets = plugins.reduce(into: [:]) { $0[$1.name] = $1.fixed }
    for (index, plugin) in free.enumerated() { targets[plugin.name] = shares[index] }
    return targets
  }

  /// Whether the plan may change with time alone: jobs wait for the turn of another plugin to end, for one to
  /// have had no work for long enough, or to have waited for long enough.
  static func changesWithTime(total: Int, _ plugins: [Plugin]) -> Bool {
    let free = plugins.filter { $0.fixed == nil }
    let reserved = plugins.reduce(0) { $0 + ($1.fixed ?? 0) }
    guard total > reserved else { return false }
    return free.contains { plugin in
      guard plugin.canStartNow, plugin.demand > plugin.current - plugin.busy else { return false }
      return plugin.current == 0 || free.contains { $0.name != plugin.name && $0.demand == 0 && $0.current > $0.kept }
    }
  }
}

/// The processes of each plugin while a plan is made, beginning with the present ones.
private struct Shares {
  private let plugins: [SlotPlan.Plugin]
  private var counts: [Int]

  init(_ plugins: [SlotPlan.Plugin]) {
    self.plugins = plugins
    counts = plugins.map(\.current)
  }

  subscript(index: Int) -> Int {
    get { counts[index] }
    set { counts[index] = newValue }
  }

  var total: Int { counts.reduce(0, +) }

  /// Jobs of a plugin that none of its processes will take soon, for each of its processes and one more.
  private func pressure(_ index: Int) -> Double {
    let idle = counts[index] - min(plugins[index].busy, counts[index])
    return Double(plugins[index].demand - idle) / Double(counts[index] + 1)
  }

  /// Whether it has a process that it does not need; processes that it will get are for its jobs.
  private func hasSpare(_ index: Int) -> Bool {
    counts[index] > plugins[index].kept && counts[index] <= plugins[index].current
  }

  // MARK: Numbers that do not fit

  /// The plugin that loses a process when there are too many. First one that has a process to spare and would keep
  /// another one, then one whose only process is spare, else the one with the most processes.
  var leastNeeded: Int? {
    let spare = counts.indices.filter(hasSpare)
    if let index = spare.filter({ counts[$0] > 1 }).max(by: isMoreUsed) ?? spare.max(by: isMoreUsed) { return index }
    return counts.indices.filter { counts[$0] > 0 }.max { counts[$0] < counts[$1] }
  }

  /// The plugin that gets a free slot.
  var firstInNeed: Int? {
    if let index = needy.first { return index }
    let startable = counts.indices.filter { plugins[$0].canStart }
    if let index = startable.filter({ plugins[$0].canStartNow && pressure($0) > 0 }).max(by: {
      pressure($0) < pressure($1)
    }) {
      return index
    }
    let absent = startable.filter { counts[$0] == 0 }
    if let index = absent.min(by: { (plugins[$0].idle, plugins[$0].name) < (plugins[$1].idle, plugins[$1].name) }) {
      return index
    }
    return startable.min { counts[$0] < counts[$1] }
  }

  // MARK: Slots that move

  /// Plugins with jobs and without a process, the one that has been without for longest first.
  var needy: [Int] {
    let needy = counts.indices.filter { counts[$0] == 0 && plugins[$0].demand > 0 && plugins[$0].canStartNow }
    return needy.sorted { (-plugins[$0].absent, plugins[$0].name) < (-plugins[$1].absent, plugins[$1].name) }
  }

  /// The plugin that makes room for one that has no process.
  func giver(toNeedy taker: Int) -> Int? {
    if let idle = longestIdle(among: counts.indices.filter { hasSpare($0) && !plugins[$0].hasWorkSoon }) { return idle }
    let several = counts.indices.filter { counts[$0] > 1 }
    if let largest = several.filter(hasSpare).max(by: { counts[$0] < counts[$1] })
      ?? several.max(by: { counts[$0] < counts[$1] })
    {
      return largest
    }
    let turn = plugins[taker].othersTurn
    return counts.indices.filter { counts[$0] == 1 && plugins[$0].current == 1 && plugins[$0].age >= turn }
      .max { plugins[$0].age < plugins[$1].age }
  }

  /// The plugin that needs a further process most, and has waited for long enough.
  var pressed: Int? {
    let pressed = counts.indices.filter { counts[$0] > 0 && plugins[$0].isPressed && pressure($0) > 0 }
    return pressed.max { pressure($0) < pressure($1) }
  }

  /// A plugin with a process that it does not use. The last one of a plugin goes only when it has had no work for a
  /// while.
  func giver(toPressed taker: Int) -> Int? {
    let spare = counts.indices.filter { $0 != taker && plugins[$0].demand == 0 && hasSpare($0) }
    return longestIdle(among: spare.filter { !plugins[$0].hasWorkSoon })
      ?? spare.filter { counts[$0] > 1 }.max { counts[$0] < counts[$1] }
  }

  /// One of several before a last one, then one of the plugin that has had no work for longest.
  private func longestIdle(among indices: [Int]) -> Int? {
    indices.filter { counts[$0] > 1 }.max(by: isMoreUsed) ?? indices.max(by: isMoreUsed)
  }

  private func isMoreUsed(_ one: Int, _ other: Int) -> Bool {
    (plugins[one].idle, counts[one]) < (plugins[other].idle, counts[other])
  }
}
