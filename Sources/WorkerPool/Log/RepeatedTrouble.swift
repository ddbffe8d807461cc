/// Keeps a failure that comes back with every scan from filling the log: the same record is written once in ten
/// minutes.
struct RepeatedTrouble {
  /// Seconds after which it is written again.
  static let interval = 600.0
  private static let most = 1000

  /// When each text was written last.
  private var told: [String: Double] = [:]

  /// Returns whether the caller should log the record, and remembers when it did.
  mutating func isNews(_ record: LogRecord, now: Double) -> Bool {
    guard record.event == .trouble else { return true }
    if let last = told[record.text], now - last < Self.interval { return false }
    if told.count >= Self.most { told = told.filter { now - $0.value < Self.interval } }
    if told.count < Self.most { told[record.text] = now }
    return true
  }
}
