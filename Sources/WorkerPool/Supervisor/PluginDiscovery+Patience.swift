extension PluginDiscovery {
  /// How long plugins have, in seconds.
  struct Patience {
    /// After which those that have answered no longer wait for the others.
    var together = 1.0
    /// For the first answer.
    var first = 10.0
    /// For later answers: it doubles up to this.
    var longest = 120.0
    /// Before a plugin is asked for the second time; doubles up to ``longestPause``.
    var pause = 5.0
    var longestPause = 300.0
    /// Between two tries while the machine lacks a resource, or after the process was killed.
    var retryDelay = 0.5
    /// Before a plugin whose file has gone is asked for the first time; doubles up to ``longestAbsence``. A change in
    /// its directory makes it shorter.
    var absence = 0.2
    var longestAbsence = 30.0

    /// How long the pool waits for such a file before it looks for the next time.
    func absence(afterLooks count: Int) -> Double { min(longestAbsence, absence * Double(1 << min(count, 20))) }
    /// The time of a plugin that has been late this many times.
    func time(afterLate count: Int) -> Double { min(longest, first * Double(1 << min(count, 20))) }
    /// How long it is left alone before that.
    func pause(afterLate count: Int) -> Double { min(longestPause, pause * Double(1 << min(count - 1, 20))) }
  }
}
