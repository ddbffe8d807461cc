import Jobs

extension StatusAdvice {
  /// Jobs that wait for something that does not come by itself: for each other, or for a batch that has no job. The
  /// pool finds them (`JobStore.stuckJobs`), and this says it:
  ///
  /// ```text
  /// p17 and p18 wait for each other: none of them ever runs; cancel one (workerpool cancel p17), or run one anyway: …
  /// p17 waits for p18, p18 for p19, p19 for p17: none of them ever runs; …
  /// p17 waits for the batch nihgtly, which has no job; did you mean nightly? to run it anyway: …
  /// ```
  static func stuck(_ status: PoolStatus) -> [Advice] { (status.stuck ?? []).map(line) }

  private static func line(_ stuck: StuckJobs) -> Advice {
    let names = stuck.jobs.map { ObjectURI($0)?.name ?? $0 }
    let first = names.first ?? ""
    guard let batch = stuck.batch else {
      let named = zip(names, stuck.batches ?? []).map { $1.isEmpty ? $0 : "\($0) (batch \($1))" }
      return "\(circle(named)): none of them ever runs; cancel one (\(.cancel(first))), or run one anyway: "
        + "\(.retry(first))"
    }
    let hint = Spelling.hint(stuck.nearest)
    let jobs = names.count == 1 ? "\(first) waits" : "\(first) and others wait"
    return "\(jobs) for the batch \(batch), which has no job\(hint.isEmpty ? ";" : hint) "
      + "to run it anyway: \(.retry(first))"
  }

  /// "a and b wait for each other", or "a waits for b, b for c, c for a".
  private static func circle(_ names: [String]) -> String {
    if names.count == 2 { return "\(names[0]) and \(names[1]) wait for each other" }
    let furtherWaits = names.indices.dropFirst().map { "\(names[$0]) for \(names[($0 + 1) % names.count])" }
    return "\(names.first ?? "") waits for \(names.dropFirst().first ?? names.first ?? "")"
      + furtherWaits.map { ", \($0)" }.joined()
  }
}
