/// Remembers for each plugin when it had jobs and processes, and what a start costs.
struct DemandHistory {
  private struct Record {
    /// When it last had a job in hand, and a process; monotonic seconds.
    var busyAt: Double?
    var presentAt: Double?
    /// Since when more jobs wait than it has idle processes.
    var pressedSince: Double?
    /// Seconds that its processes take to come up, smoothed.
    var startTime: Double?
  }

  private var records: [String: Record] = [:]

  /// Completes the view of a plugin at a moment by earlier ones.
  mutating func note(_ seen: SlotPlan.Plugin, now: Double) -> SlotPlan.Plugin {
    var record = records[seen.name] ?? Record()
    if seen.busy > 0 { record.busyAt = now }
    if seen.current > 0 { record.presentAt = now }
    record.pressedSince = seen.demand > seen.current - seen.busy ? record.pressedSince ?? now : nil
    records[seen.name] = record
    var plugin = seen
    plugin.idle = record.busyAt.map { now - $0 } ?? .infinity
    plugin.absent = record.presentAt.map { now - $0 } ?? .infinity
    plugin.pressed = record.pressedSince.map { now - $0 } ?? 0
    plugin.startTime = record.startTime ?? 0
    return plugin
  }

  /// A further process was started. Whether that is enough shows later.
  mutating func started(_ name: String) { records[name]?.pressedSince = nil }

  /// A process came up this many seconds after its start.
  mutating func cameUp(_ name: String, after seconds: Double) {
    let before = records[name]?.startTime ?? seconds
    records[name, default: Record()].startTime = 0.7 * before + 0.3 * seconds
  }
}
