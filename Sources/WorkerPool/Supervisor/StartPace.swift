import Foundation

/// How many processes of a plugin are started at a time.
///
/// A process needs the processors until it says hello, and has some seconds for that. If hundreds were started at once,
/// none would be in time. So further processes follow as those before them arrive: few at first, then as many as have
/// come up already, up to a bound.
enum StartPace {
  /// Processes on their way for each processor, at first and at most.
  private static let first = 2
  private static let most = 16
  private static let processors = ProcessInfo.processInfo.activeProcessorCount

  /// How many more may be started now.
  ///
  /// - Parameters:
  ///   - arriving: processes of the plugin that were started and have not said hello.
  ///   - arrived: those that have.
  static func room(arriving: Int, arrived: Int, processors: Int = processors) -> Int {
    max(0, min(max(first * processors, arrived), most * processors) - arriving)
  }
}
