/// How many processes each plugin should have: a pure function of who waits and who works.
enum SlotPlan {
  /// Seconds that a plugin's last process may work before it makes place for another plugin that has none.
  static let turn = 2.0
  /// Seconds for which a plugin that has just had work keeps a process: more may come.
  static let warmth = 5.0

  /// What is known of a plugin.
  struct Plugin: Equatable {
    var name: String
    /// A number set by hand (`NAME=K`), which the plan keeps.
    var fixed: Int?
    /// Jobs that nobody has begun, and that would begin if there were a process for each.
    var waiting = 0
    /// Processes that hold a job, and that are being started.
    var busy = 0
    var starting = 0
    /// Processes that there are.
    var current = 0
    /// Seconds since the oldest of them came up.
    var age = 0.0
    /// Seconds since it had a job in hand, and since it had a process.
    var idle = Double.infinity
    var absent = Double.infinity
    /// Whether it may get more processes: not while it cannot be started.
    var canStart = true

    var isWarm: Bool { current > 0 && (busy > 0 || idle < SlotPlan.warmth) }
    /// Processes that are not to be taken away without need: those at work, and those that will be at it soon.
    fileprivate var kept: Int { busy + min(starting, waiting) }
  }

  /// Shares `total` processes out.
  ///
  /// Fixed numbers come first, and processes at work stay. A plugin that has jobs waiting and no process gets one: a free one, one of several
  /// of another plugin, or the last one of a plugin that has had its turn. What is left goes where most jobs wait for each process, then
  /// to plugins without work, one each, and after that stays where it is. Whoever wants processes for a plugin in any case sets
  /// their number by hand.
  static func targets(total: Int, plugins: [Plugin]) -> [String: Int] {
    var targets: [String: Int] = [:]
    var left = total
    for plugin in plugins {
      targets[plugin.name] = plugin.fixed ?? plugin.kept
      left -= plugin.fixed ?? plugin.kept
    }
    let free = plugins.filter { $0.fixed == nil }
    while left < 0, let largest = free.filter({ (targets[$0.name] ?? 0) > 0 }).max(by: { $0.kept < $1.kept }) {
      targets[largest.name, default: 0] -= 1
      left += 1
    }
    for plugin in needy(free, targets) {
      if left > 0 {
        left -= 1
      } else if let giver = giver(free, targets) {
        targets[giver, default: 0] -= 1
      } else {
        break
      }
      targets[plugin] = 1
    }
    func giveOneEach(_ plugins: [Plugin]) {
      for plugin in plugins where left > 0 && targets[plugin.name] == 0 && mayHaveMore(plugin, targets) {
        targets[plugin.name] = 1
        left -= 1
      }
    }
    giveOneEach(free.filter(\.isWarm))
    while left > 0, let plugin = neediest(free, targets) {
      targets[plugin, default: 0] += 1
      left -= 1
    }
    giveOneEach(free.filter { $0.current > 0 } + free.sorted { $0.name < $1.name })
    while left > 0, let plugin = keeper(free, targets) {
      targets[plugin, default: 0] += 1
      left -= 1
    }
    return targets
  }

  /// Whether the plan may be another one in a while, though nothing happens: somebody waits for the turn of another to end, or for one to
  /// cool down.
  static func changesWithTime(total: Int, _ plugins: [Plugin]) -> Bool {
    let free = plugins.filter { $0.fixed == nil }
    let reserved = plugins.reduce(0) { $0 + ($1.fixed ?? 0) }
    guard total > reserved, free.contains(where: { $0.waiting > 0 }) else { return false }
    return free.contains { $0.waiting > 0 && $0.current == 0 && $0.canStart }
      || free.contains { $0.busy == 0 && $0.waiting == 0 && $0.isWarm }
  }

  /// Whether a plugin has a process that the plan has not given it yet, or may get a new one.
  private static func mayHaveMore(_ plugin: Plugin, _ targets: [String: Int]) -> Bool {
    plugin.canStart || (targets[plugin.name] ?? 0) < plugin.current
  }

  /// Plugins with work, none of whose processes is at it: first those that have one, which will be soon, then who has been without
  /// for longest.
  private static func needy(_ plugins: [Plugin], _ targets: [String: Int]) -> [String] {
    let needy = plugins.filter { $0.waiting > 0 && targets[$0.name] == 0 && mayHaveMore($0, targets) }
    return needy.sorted { one, other in
      if (one.current > 0) != (other.current > 0) { return one.current > 0 }
      return (other.absent, one.name) < (one.absent, other.name)
    }.map(\.name)
  }

  /// The plugin that makes place for one without a process.
  private static func giver(_ plugins: [Plugin], _ targets: [String: Int]) -> String? {
    let largest = plugins.max { (targets[$0.name] ?? 0) < (targets[$1.name] ?? 0) }
    if let largest, targets[largest.name] ?? 0 > 1 { return largest.name }
    return plugins.filter { targets[$0.name] == 1 && $0.busy > 0 && $0.age >= turn }.max { $0.age < $1.age }?.name
  }

  /// The plugin that most jobs wait for, for each process; `nil` when no more processes are needed.
  private static func neediest(_ plugins: [Plugin], _ targets: [String: Int]) -> String? {
    func pressure(_ plugin: Plugin) -> Double {
      let have = targets[plugin.name] ?? 0
      // Busy processes have their work already; the others are there for the jobs that wait.
      let idle = have - min(plugin.busy, have)
      return Double(plugin.waiting - idle) / Double(have + 1)
    }
    return plugins.filter { mayHaveMore($0, targets) && pressure($0) > 0 }.max { pressure($0) < pressure($1) }?.name
  }

  /// The plugin that keeps a process for which there is no need, or gets one.
  private static func keeper(_ plugins: [Plugin], _ targets: [String: Int]) -> String? {
    if let lost = plugins.first(where: { (targets[$0.name] ?? 0) < $0.current }) { return lost.name }
    return plugins.filter(\.canStart).min { (targets[$0.name] ?? 0) < (targets[$1.name] ?? 0) }?.name
  }
}
