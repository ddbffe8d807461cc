import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Finds `worker-NAME` files and asks each for its description: all at the same time, and without blocking the loop.
///
/// What plugins answer is reported together if all answer soon, and as it comes if some do not. A plugin that has not
/// answered is asked again and again, with more and more time, for as long as this object lives.
final class PluginDiscovery {
  /// What became known.
  struct News: Equatable {
    /// Ordered by name.
    var plugins: [Plugin] = []
    /// Files that look like plugins and cannot be used now, by plugin name.
    var failures: [String: StartFailure] = [:]
    /// Whether each plugin has answered or failed for the first time; true for one report.
    var endsFirstRound = false
  }

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

    /// The time of a plugin that has been late this many times.
    func time(afterLate count: Int) -> Double { min(longest, first * Double(1 << min(count, 20))) }
    /// How long it is left alone before that.
    func pause(afterLate count: Int) -> Double { min(longestPause, pause * Double(1 << min(count - 1, 20))) }
  }

  /// How many tries follow the first at once, after a shortage or a SIGKILL.
  static let retries = 10
  /// What `describe` may print, in bytes, and the lines of its standard error that are kept for the reason of a
  /// failure.
  static let outputLimit = 1 << 20
  static let keptErrors = 3
  static let prefix = "worker-"

  private let loop: EventLoop
  private let starter: ProcessStarter
  private let environment: [String: String]
  private let confinement: WorkerConfinement?
  private let patience: Patience
  /// The paths of the plugins' files by name.
  let files: [String: String]
  private var probes: [String: Probe] = [:]
  /// Plugins that wait to be asked again.
  private var pauses: [String: TimerQueue.Token] = [:]
  /// How often plugins did not answer in time, by name.
  private var late: [String: Int] = [:]
  /// Plugins without a first answer or failure.
  private var open: Set<String>
  private var news = News()
  /// Whether what is known is reported at once.
  private var isImpatient = false
  /// Whether each plugin has answered, or failed to, at least once.
  private(set) var isFirstRoundOver = false
  private var isStopped = false
  private var togetherTimer: TimerQueue.Token?
  private let report: (News) -> Void

  /// A plugin that is being asked.
  struct Probe {
    let process: ChildProcess
    let timer: TimerQueue.Token
    let startedAt: Double
    let time: Double
    let triesLeft: Int
    var output: [String] = []
    var outputSize = 0
    var lastErrors: [String] = []
    var isLate = false

    var isTooLong: Bool { outputSize > PluginDiscovery.outputLimit }

    mutating func add(_ line: OutputLine) {
      outputSize += line.text.utf8.count + 1
      guard !isTooLong else { return }
      if line.isError {
        if lastErrors.count == PluginDiscovery.keptErrors { lastErrors.removeFirst() }
        lastErrors.append(line.text)
      } else {
        output.append(line.text)
      }
    }
  }

  /// Searches `directories`, of which the first one that has a plugin's name wins; calls `report` on the loop whenever
  /// something is known, at least once.
  ///
  /// - Parameters:
  ///   - environment: what the plugins' processes get.
  ///   - confinement: what confines them; nil for nothing.
  init(
    directories: [String], environment: [String: String], confinement: WorkerConfinement? = nil,
    patience: Patience = Patience(), loop: EventLoop, starter: ProcessStarter, report: @escaping (News) -> Void
  ) {
    self.confinement = confinement
    self.patience = patience
    self.loop = loop
    self.starter = starter
    self.environment = environment
    self.report = report
    files = Self.files(in: directories)
    open = Set(files.keys)
    for name in files.keys { ask(name, triesLeft: Self.retries) }
    togetherTimer = loop.timers.after(open.isEmpty ? 0 : patience.together) { [weak self] in self?.becomeImpatient() }
  }

  /// The processes that are being asked.
  var processes: [pid_t] { probes.values.map(\.process.pid) }

  /// Plugins that have not answered yet: since how many seconds they are being asked, nil for those that are left alone
  /// for now.
  var unanswered: [String: Double?] {
    let now = Clock.now
    let names = Set(probes.keys).union(pauses.keys)
    return Dictionary(uniqueKeysWithValues: names.map { ($0, probes[$0].map { now - $0.startedAt }) })
  }

  /// Asks a plugin again at once, unless that is being done.
  func askAgain(_ name: String) {
    guard files[name] != nil, probes[name] == nil else { return }
    loop.timers.cancel(pauses.removeValue(forKey: name))
    ask(name, triesLeft: Self.retries)
  }

  /// Paths of the plugin files by name.
  static func files(in directories: [String]) -> [String: String] {
    var files: [String: String] = [:]
    for directory in directories {
      for file in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
        let name = String(file.dropFirst(prefix.count))
        let path = directory + "/" + file
        var status = stat()
        // A link that leads nowhere is found, too: its failure says that it cannot be executed.
        let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        guard file.hasPrefix(prefix), isProtocolName(name), !name.contains("."), files[name] == nil, !isDirectory
        else { continue }
        files[name] = path
      }
    }
    return files
  }

  // MARK: Asking

  private func ask(_ name: String, triesLeft: Int) {
    guard let path = files[name] else { return }
    do {
      var program = Program(path: path, arguments: ["describe"], environment: environment)
      program.confinement = confinement?.bounds(of: path, needs: nil)
      let process = try ChildProcess(
        program, longestLine: Self.outputLimit, loop: loop, starter: starter,
        onStart: { [weak self] error in
          if let error { self?.couldNotStart(name, error) }
        },
        onLine: { [weak self] line in
          guard let self, probes[name]?.isTooLong == false else { return }
          probes[name]?.add(line)
          if probes[name]?.isTooLong == true { probes[name]?.process.signal(SIGKILL) }
        }, onDeath: { [weak self] death in self?.ended(name, death) })
      let time = patience.time(afterLate: late[name] ?? 0)
      let timer = loop.timers.after(time) { [weak self] in self?.isLate(name) }
      probes[name] = Probe(
        process: process, timer: timer, startedAt: Clock.now, time: time, triesLeft: triesLeft)
    } catch {
      cannotStart(name, error, triesLeft)
    }
  }

  private func cannotStart(_ name: String, _ error: SystemCallError, _ triesLeft: Int) {
    // ETXTBSY: another program is still writing the file.
    guard error.isShortage || error.number == ETXTBSY else {
      let reason = String(cString: strerror(error.number))
      return found(.failure(.notExecutable(path: files[name] ?? name, reason: reason)), name)
    }
    // A machine that has run out of processes, memory or descriptors may have some in a moment.
    if triesLeft > 0 { return askLater(name, after: patience.retryDelay, triesLeft: triesLeft - 1) }
    tryAgain(name, .shortage(error.isShortage ? error.explained : "its file is open for writing"))
  }

  private func couldNotStart(_ name: String, _ error: SystemCallError) {
    guard let probe = probes.removeValue(forKey: name), !isStopped else { return }
    loop.timers.cancel(probe.timer)
    cannotStart(name, error, probe.triesLeft)
  }

  private func isLate(_ name: String) {
    guard let probe = probes[name] else { return }
    guard probe.process.isStarting else {
      probes[name]?.isLate = true
      return probe.process.signal(SIGKILL)
    }
    // It is asked again when its file system answers, or later.
    probes[name] = nil
    tryAgain(name, .hangs(path: files[name] ?? name, seconds: probe.time))
  }

  private func ended(_ name: String, _ death: Death) {
    guard let probe = probes.removeValue(forKey: name), let path = files[name], !isStopped else { return }
    loop.timers.cancel(probe.timer)
    // A SIGKILL from a user or from the OOM killer is not the plugin's fault.
    if death == .signalled(SIGKILL), !probe.isLate, !probe.isTooLong, probe.triesLeft > 0 {
      return askLater(name, after: patience.retryDelay, triesLeft: probe.triesLeft - 1)
    }
    if probe.isLate, !probe.isTooLong { return tryAgain(name, .undescribed(path: path, seconds: probe.time)) }
    do throws(StartFailure) {
      found(.success(try Self.plugin(name, path, probe, death)), name)
    } catch {
      found(.failure(error), name)
    }
  }

  /// The plugin may answer another time.
  private func tryAgain(_ name: String, _ failure: StartFailure) {
    late[name, default: 0] += 1
    askLater(name, after: patience.pause(afterLate: late[name] ?? 1), triesLeft: Self.retries)
    found(.failure(failure), name)
  }

  private func askLater(_ name: String, after seconds: Double, triesLeft: Int) {
    pauses[name] = loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      pauses[name] = nil
      ask(name, triesLeft: triesLeft)
    }
  }

  // MARK: Reporting

  private func found(_ answer: Result<Plugin, StartFailure>, _ name: String) {
    switch answer {
    case .success(let plugin): news.plugins.append(plugin)
    case .failure(let failure): news.failures[name] = failure
    }
    open.remove(name)
    if isImpatient { return tell() }
    // Nothing is reported before the initialiser has returned.
    guard open.isEmpty, togetherTimer != nil else { return }
    loop.timers.cancel(togetherTimer)
    togetherTimer = loop.timers.after(0) { [weak self] in self?.becomeImpatient() }
  }

  private func becomeImpatient() {
    isImpatient = true
    togetherTimer = nil
    tell()
  }

  private func tell() {
    news.endsFirstRound = open.isEmpty && !isFirstRoundOver
    if news.endsFirstRound { isFirstRoundOver = true }
    guard news != News() else { return }
    var told = News()
    swap(&told, &news)
    told.plugins.sort { $0.name < $1.name }
    report(told)
  }

  /// Asks no more, and kills the processes that are being asked; ``processes`` becomes empty when they are gone.
  func stop() {
    isStopped = true
    loop.timers.cancel(togetherTimer)
    for timer in pauses.values { loop.timers.cancel(timer) }
    pauses = [:]
    for (name, probe) in probes {
      loop.timers.cancel(probe.timer)
      if probe.process.isStarting { probes[name] = nil } else { probe.process.signal(SIGKILL) }
    }
  }
}
