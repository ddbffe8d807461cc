import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Finds `worker-NAME` files and asks each for its description: all at the same time, and without blocking the loop.
///
/// What plugins answer is reported together if all answer soon, and as it comes if some do not. A plugin that has not
/// answered is asked again and again, with more and more time, for as long as this object lives. A directory that does
/// not answer keeps its plugins as they were, and holds up no other.
final class PluginDiscovery {
  /// What became known.
  struct News: Equatable {
    /// Ordered by name.
    var plugins: [Plugin] = []
    /// Files that look like plugins and cannot be used now, by plugin name.
    var failures: [String: StartFailure] = [:]
    /// Whether each plugin has answered or failed for the first time; true for one report.
    var endsFirstRound = false
    /// Directories that have not answered for long. Their plugins stay as they were.
    var silentDirectories: [String] = []
  }

  /// How many tries follow the first at once, after a shortage or a SIGKILL.
  static let retries = 10

  private let loop: EventLoop
  private let starter: ProcessStarter
  private let environment: [String: String]
  private let confinement: WorkerConfinement?
  private let patience: Patience
  private var listings: PluginListings
  /// Whether directories that have not answered still hold up what needs all of them.
  private var waitsForDirectories = true
  private lazy var waits = PluginFileWaits(loop: loop) { [weak self] name in self?.lookSoon(name) }
  private var probes: [String: PluginProbe] = [:]
  /// Plugins that wait to be asked again.
  private var pauses: [String: TimerQueue.Token] = [:]
  /// How often plugins did not answer in time, by name.
  private var late: [String: Int] = [:]
  /// Plugins without a first answer or failure.
  private var open: Set<String> = []
  private var news = News()
  /// Whether what is known is reported at once.
  private var isImpatient = false
  /// Whether each plugin has answered, or failed to, at least once.
  private(set) var isFirstRoundOver = false
  private var isStopped = false
  private var togetherTimer: TimerQueue.Token?
  private var directoryTimer: TimerQueue.Token?
  private let report: (News) -> Void
  private let listed: () -> Void

  /// Searches `directories`, of which the first one that has a plugin's name wins; calls `report` on the loop whenever
  /// something is known, at least once.
  ///
  /// - Parameters:
  ///   - former: the discovery before this one.
  ///   - environment: what the plugins' processes get.
  ///   - confinement: what confines them; nil for nothing.
  ///   - listed: called on the loop when a directory has answered.
  init(
    directories: [String], former: PluginDiscovery? = nil, environment: [String: String],
    confinement: WorkerConfinement? = nil, patience: Patience = Patience(), loop: EventLoop, starter: ProcessStarter,
    listed: @escaping () -> Void = {}, report: @escaping (News) -> Void
  ) {
    listings = PluginListings(directories, former: former?.listings)
    self.confinement = confinement
    self.patience = patience
    self.loop = loop
    self.starter = starter
    self.environment = environment
    self.report = report
    self.listed = listed
    for directory in Set(directories) { list(directory) }
    togetherTimer = loop.timers.after(patience.together) { [weak self] in self?.becomeImpatient() }
    directoryTimer = loop.timers.after(patience.first) { [weak self] in self?.waitNoLongerForDirectories() }
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
    guard listings.files[name] != nil, probes[name] == nil else { return }
    loop.timers.cancel(pauses.removeValue(forKey: name))
    ask(name, triesLeft: Self.retries)
  }

  // MARK: Directories

  /// How a directory is named where its silence is told.
  static func subject(_ directory: String) -> String { "the plugin directory \(directory)" }

  /// Whether a directory has not answered.
  var hasSilentDirectories: Bool { listings.hasSilent }

  /// Whether there is a file of this name, or may be one in a directory that has not answered.
  func mayHave(_ name: String) -> Bool { listings.mayHave(name) }

  private func list(_ directory: String) {
    loop.blocking.run(on: Self.subject(directory)) {
      PluginListings.files(in: directory)
    } then: { [weak self] files in
      guard let self, !isStopped else { return }
      guard let files else {
        loop.timers.after(patience.retryDelay) { [weak self] in self?.list(directory) }
        return
      }
      listings.note(files, in: directory)
      if !hasSilentDirectories { loop.timers.cancel(directoryTimer) }
      askListed()
      if !hasSilentDirectories, open.isEmpty { becomeImpatient() }
      listed()
    }
  }

  /// Asks the plugins of the directories that have answered.
  private func askListed() {
    for name in listings.takeFiles(isImpatient: isImpatient) {
      // The process that is asked at another path ends with the probe.
      if let probe = probes.removeValue(forKey: name) { loop.timers.cancel(probe.timer) }
      loop.timers.cancel(pauses.removeValue(forKey: name))
      if !isFirstRoundOver { open.insert(name) }
      ask(name, triesLeft: Self.retries)
    }
  }

  private func waitNoLongerForDirectories() {
    guard !isStopped else { return }
    waitsForDirectories = false
    news.silentDirectories = listings.silent
    tell()
  }

  // MARK: Files that have gone

  /// Whether the plugin's file is waited for.
  func awaits(_ name: String) -> Bool { waits.awaits(name) }

  /// Asks a plugin whose file cannot be started any more until it can: it is being replaced.
  func awaitFile(of name: String) {
    guard listings.files[name] != nil, waits.begin(name) else { return }
    lookLater(name)
    askWhenChanged(name)
  }

  /// Asks a plugin again when its file has changed.
  func askWhenChanged(_ name: String) {
    if let directory = listings.directory(of: name) { waits.watch(name, in: directory) }
  }

  private func lookSoon(_ name: String) {
    guard !isStopped, probes[name] == nil else { return }
    loop.timers.cancel(pauses[name])
    askLater(name, after: patience.retryDelay / 5, triesLeft: Self.retries)
  }

  private func lookLater(_ name: String) {
    loop.timers.cancel(pauses[name])
    askLater(name, after: patience.absence(afterLooks: waits.noteLook(at: name)), triesLeft: Self.retries)
  }

  // MARK: Asking

  private func ask(_ name: String, triesLeft: Int) {
    guard let path = listings.files[name], probes[name] == nil else { return }
    do {
      let program = Program(path: path, arguments: ["describe"], environment: environment)
      let bounds = confinement.map { confinement in
        { @Sendable in confinement.bounds(of: path, needs: nil) }
      }
      let process = try ChildProcess(
        program, confinement: bounds, longestLine: PluginProbe.outputLimit, loop: loop, starter: starter,
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
      probes[name] = PluginProbe(process, timer: timer, startedAt: Clock.now, time: time, triesLeft: triesLeft)
    } catch {
      cannotStart(name, error, triesLeft)
    }
  }

  private func cannotStart(_ name: String, _ error: SystemCallError, _ triesLeft: Int) {
    // ETXTBSY: another program is still writing the file.
    guard error.isShortage || error.number == ETXTBSY else {
      let reason = String(cString: strerror(error.number))
      return found(.failure(.notExecutable(path: listings.files[name] ?? name, reason: reason)), name)
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
    tryAgain(name, .hangs(path: listings.files[name] ?? name, seconds: probe.time))
  }

  private func ended(_ name: String, _ death: Death) {
    guard let probe = probes.removeValue(forKey: name), let path = listings.files[name], !isStopped else { return }
    loop.timers.cancel(probe.timer)
    // A SIGKILL from a user or from the OOM killer is not the plugin's fault.
    if death == .signalled(SIGKILL), !probe.isLate, !probe.isTooLong, probe.triesLeft > 0 {
      return askLater(name, after: patience.retryDelay, triesLeft: probe.triesLeft - 1)
    }
    if probe.isLate, !probe.isTooLong { return tryAgain(name, .undescribed(path: path, seconds: probe.time)) }
    do throws(StartFailure) {
      found(.success(try Self.plugin(named: name, at: path, probe: probe, death: death)), name)
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
    case .success(let plugin):
      waits.end(name)
      listings.noteAnswer(of: name)
      news.plugins.append(plugin)
    case .failure(let failure):
      if waits.awaits(name), pauses[name] == nil { lookLater(name) }
      news.failures[name] = failure
    }
    open.remove(name)
    if isImpatient { return tell() }
    guard open.isEmpty, !hasSilentDirectories, togetherTimer != nil else { return }
    loop.timers.cancel(togetherTimer)
    togetherTimer = loop.timers.after(0) { [weak self] in self?.becomeImpatient() }
  }

  private func becomeImpatient() {
    loop.timers.cancel(togetherTimer)
    togetherTimer = nil
    isImpatient = true
    askListed()
    tell()
  }

  private func tell() {
    let isWaiting = waitsForDirectories && hasSilentDirectories
    news.endsFirstRound = open.isEmpty && !isWaiting && !isFirstRoundOver
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
    loop.timers.cancel(directoryTimer)
    waits.endWatch()
    for timer in pauses.values { loop.timers.cancel(timer) }
    pauses = [:]
    for (name, probe) in probes {
      loop.timers.cancel(probe.timer)
      if probe.process.isStarting { probes[name] = nil } else { probe.process.signal(SIGKILL) }
    }
  }
}
