/// A plugin's process that was started as `worker-NAME describe`, and what it has printed.
struct PluginProbe {
  /// What `describe` may print, in bytes, and the lines of its standard error that are kept for the reason of a
  /// failure.
  static let outputLimit = 1 << 20
  private static let keptErrors = 3

  let process: ChildProcess
  let timer: TimerQueue.Token
  let startedAt: Double
  /// Seconds that it has.
  let time: Double
  let triesLeft: Int
  private(set) var output: [String] = []
  private(set) var lastErrors: [String] = []
  private var outputSize = 0
  /// It did not answer in time, and was killed.
  var isLate = false

  init(_ process: ChildProcess, timer: TimerQueue.Token, startedAt: Double, time: Double, triesLeft: Int) {
    self.process = process
    self.timer = timer
    self.startedAt = startedAt
    self.time = time
    self.triesLeft = triesLeft
  }

  var isTooLong: Bool { outputSize > Self.outputLimit }

  mutating func add(_ line: OutputLine) {
    outputSize += line.text.utf8.count + 1
    guard !isTooLong else { return }
    if line.isError {
      if lastErrors.count == Self.keptErrors { lastErrors.removeFirst() }
      lastErrors.append(line.text)
    } else {
      output.append(line.text)
    }
  }
}
