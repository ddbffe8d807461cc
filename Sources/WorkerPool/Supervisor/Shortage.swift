/// Processes of a plugin cannot be started for lack of a resource of the machine or of the pool's process: files,
/// processes, memory.
struct Shortage {
  /// What is lacking, as the log has it.
  var failure: StartFailure
  /// How long until the next try. It has nothing to do with the plugin, so jobs that end change nothing of it.
  var policy = RestartPolicy()
  /// The time of the next try; nil while one is under way, or may begin.
  var pause: TimerQueue.Token?

  var isPausing: Bool { pause != nil }

  init(failure: StartFailure) { self.failure = failure }
}
