/// How many processes each plugin should have: a pure function of who waits and who works.
enum SlotPlan {
  /// What is known of a plugin.
  struct Plugin: Equatable {
    var name: String
    /// A number set by hand (`NAME=K`), which the plan keeps.
    var fixed: Int?
    /// Ready jobs that nobody has begun.
    var waiting = 0
    /// Processes that hold a job.
    var busy = 0
    /// Processes that there are.
    var current = 0
  }

  /// Shares `total` processes out.
  ///
  /// Fixed numbers come first. Of the rest each plugin gets one while there are enough, those with work first; what is left goes
  /// where most jobs wait for each process, and without any need stays where it is. A busy process is taken away only when there
  /// are more of them than `total`.
  static func targets(total: Int, plugins: [Plugin]) -> [String: Int] {
    var targets: [String: Int] = [:]
    var left = total
    for plugin in plugins {
      targets[plugin.name] = plugin.fixed ?? plugin.busy
      left -= plugin.fixed ?? plugin.busy
    }
    let free = plugins.filter { $0.fixed == nil }
    let byNeed = free.sorted { one, other in
      if (one.waiting > 0) != (other.waiting > 0) { return one.waiting > 0 }
      if (one.current > 0) != (other.current > 0) { return one.current > 0 }
      return one.name < other.name
    }
    for plugin in byNeed where left > 0 && targets[plugin.name] == 0 {
      targets[plugin.name] = 1
      left -= 1
    }
    while left < 0, let largest = free.filter({ (targets[$0.name] ?? 0) > 0 }).max(by: { $0.busy < $1.busy }) {
      targets[largest.name, default: 0] -= 1
      left += 1
    }
    while left > 0, let plugin = neediest(free, targets) {
      targets[plugin, default: 0] += 1
      left -= 1
    }
    return targets
  }

  /// The plugin that the next process should go to.
  private static func neediest(_ plugins: [Plugin], _ targets: [String: Int]) -> String? {
    func pressure(_ plugin: Plugin) -> Double {
      let have = targets[plugin.name] ?? 0
      // Busy processes have their work already; the others are there for the jobs that wait.
      let idle = have - min(plugin.busy, have)
      return Double(plugin.waiting - idle) / Double(have + 1)
    }
    let waiting = plugins.filter { pressure($0) > 0 }
    if let most = waiting.max(by: { pressure($0) < pressure($1) }) { return most.name }
    if let lost = plugins.first(where: { (targets[$0.name] ?? 0) < $0.current }) { return lost.name }
    return plugins.min { (targets[$0.name] ?? 0) < (targets[$1.name] ?? 0) }?.name
  }
}
