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
    /// When it lost its last process, and whether it has needed one since; `nil` while it has one.
    var lostAt: Double?
    var isMissed = false
    var warmth = SlotPlan.warmth
  }

  /// A plugin that needs a process within this many seconds after it lost its last one should have kept it. It keeps
  /// its next last one for twice as long, up to the longest warmth.
  private static let regretTime = 60.0
  private static let longestWarmth = 40.0

  private var records: [String: Record] = [:]

  /// Completes the view of a plugin at a moment by earlier ones.
  mutating func note(_ seen: SlotPlan.Plugin, now: Double) -> SlotPlan.Plugin {
    var record = records[seen.name] ?? Record()
    if seen.busy > 0 { record.busyAt = now }
    if seen.current == 0, record.presentAt != nil, record.lostAt == nil { record.lostAt = now }
    if seen.current > 0 { (record.presentAt, record.lostAt, record.isMissed) = (now, nil, false) }
    if let lostAt = record.lostAt { reconsider(&record, lostAt, seen, now) }
    record.pressedSince = seen.demand > seen.current - seen.busy ? record.pressedSince ?? now : nil
    records[seen.name] = record
    var plugin = seen
    plugin.idle = record.busyAt.map { now - $0 } ?? .infinity
    plugin.absent = record.presentAt.map { now - $0 } ?? .infinity
    plugin.pressed = record.pressedSince.map { now - $0 } ?? 0
    plugin.startTime = record.startTime ?? 0
    plugin.warmth = record.warmth
    return plugin
  }

  private func reconsider(_ record: inout Record, _ lostAt: Double, _ seen: SlotPlan.Plugin, _ now: Double) {
    if now - lostAt > Self.regretTime {
      record.warmth = SlotPlan.warmth
    } else if seen.demand > 0, !record.isMissed {
      record.isMissed = true
      record.warmth = min(2 * record.warmth, Self.longestWarmth)
    }
  }

  /// A further process was started. Whether that is enough shows later.
  mutating func started(_ name: String) { records[name]?.pressedSince = nil }

  /// A process came up this many seconds after its start.
  mutating func cameUp(_ name: String, after seconds: Double) {
    let before = records[name]?.startTime ?? seconds
    records[name, default: Record()].startTime = 0.7 * before + 0.3 * seconds
  }
}
