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
  private let directories: [String]
  /// What each directory holds: the paths of its plugins' files by name. One that has not answered yet has none.
  private var listings: [String: [String: String]] = [:]
  /// What those held before that have not answered.
  private let formerListings: [String: [String: String]]
  /// The files of the discovery before this one, by name, but for those that were missing there already.
  private let formerFiles: [String: String]
  /// Plugins that were found before, and that no directory lists now. Their files are waited for: they may be replaced
  /// just now. The next discovery forgets those that are still missing.
  private var missing: Set<String> = []
  /// Whether directories that have not answered still hold up what needs all of them.
  private var waitsForDirectories = true
  /// The paths of the plugins' files by name.
  private(set) var files: [String: String] = [:]
  /// Plugins whose files are waited for, with the number of looks.
  private var absent: [String: Int] = [:]
  /// Plugins that are asked again when their files change.
  private var watched: Set<String> = []
  private var watch: PluginFileWatch?
  private var probes: [String: Probe] = [:]
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
  ///   - former: the discovery before this one.
  ///   - environment: what the plugins' processes get.
  ///   - confinement: what confines them; nil for nothing.
  ///   - listed: called on the loop when a directory has answered.
  init(
    directories: [String], former: PluginDiscovery? = nil, environment: [String: String],
    confinement: WorkerConfinement? = nil, patience: Patience = Patience(), loop: EventLoop, starter: ProcessStarter,
    listed: @escaping () -> Void = {}, report: @escaping (News) -> Void
  ) {
    self.directories = directories
    formerListings = former.map { $0.formerListings.merging($0.listings) { $1 } } ?? [:]
    formerFiles = former.map { former in former.files.filter { !former.missing.contains($0.key) } } ?? [:]
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
    guard files[name] != nil, probes[name] == nil else { return }
    loop.timers.cancel(pauses.removeValue(forKey: name))
    ask(name, triesLeft: Self.retries)
  }

  // MARK: Directories

  /// How a directory is named where its silence is told.
  static func subject(_ directory: String) -> String { "the plugin directory \(directory)" }

  /// Whether a directory has not answered.
  var hasSilentDirectories: Bool { listings.count < Set(directories).count }

  /// Whether there is a file of this name, or may be one in a directory that has not answered.
  func mayHave(_ name: String) -> Bool {
    files[name] != nil || silentDirectories.contains { formerListings[$0]?[name] != nil }
  }

  private var silentDirectories: [String] { directories.filter { listings[$0] == nil } }

  private func list(_ directory: String) {
    loop.blocking.run(on: Self.subject(directory)) {
      Self.files(in: directory)
    } then: { [weak self] files in
      guard let self, !isStopped else { return }
      guard let files else {
        loop.timers.after(patience.retryDelay) { [weak self] in self?.list(directory) }
        return
      }
      listings[directory] = files
      if !hasSilentDirectories { loop.timers.cancel(directoryTimer) }
      askListed()
      if !hasSilentDirectories, open.isEmpty { becomeImpatient() }
      listed()
    }
  }

  /// Asks the plugins of the directories that have answered. While one before them has not, what it held before comes
  /// first, and for a moment it may hold anything.
  private func askListed() {
    var taken: Set<String> = []
    for directory in directories {
      guard let files = listings[directory] else {
        guard isImpatient else { return }
        taken.formUnion(formerListings[directory]?.keys.map(\.self) ?? [])
        continue
      }
      for (name, path) in files where taken.insert(name).inserted && self.files[name] != path {
        // Its process ends with the probe.
        if let probe = probes.removeValue(forKey: name) { loop.timers.cancel(probe.timer) }
        loop.timers.cancel(pauses.removeValue(forKey: name))
        take(name, at: path)
      }
    }
    guard !hasSilentDirectories else { return }
    for (name, path) in formerFiles where files[name] == nil && missing.insert(name).inserted { take(name, at: path) }
  }

  private func take(_ name: String, at path: String) {
    files[name] = path
    if !isFirstRoundOver { open.insert(name) }
    ask(name, triesLeft: Self.retries)
  }

  private func waitNoLongerForDirectories() {
    guard !isStopped else { return }
    waitsForDirectories = false
    news.silentDirectories = silentDirectories
    tell()
  }

  /// Paths of a directory's plugin files by name; nil if the process has no descriptor to look. Blocks as long as its
  /// file system does.
  static func files(in directory: String) -> [String: String]? {
    let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0, ErrorNumber.isOutOfDescriptors(errno) { return nil }
    if descriptor >= 0 { close(descriptor) }
    var files: [String: String] = [:]
    // A directory that is not there has no plugins yet.
    for file in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
      let name = String(file.dropFirst(prefix.count))
      guard file.hasPrefix(prefix), isProtocolName(name), !name.contains(".") else { continue }
      let path = directory + "/" + file
      var status = stat()
      // A link that leads nowhere is found, too: its failure says that it cannot be executed.
      let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      if !isDirectory { files[name] = path }
    }
    return files
  }

  // MARK: Files that have gone

  /// Whether the plugin's file is waited for.
  func awaits(_ name: String) -> Bool { absent[name] != nil }

  /// Whether any plugin's file is waited for.
  var awaitsFiles: Bool { !absent.isEmpty }

  /// Asks a plugin whose file cannot be started any more until it can: it is being replaced.
  func awaitFile(of name: String) {
    guard absent[name] == nil, files[name] != nil else { return }
    absent[name] = 0
    lookLater(name)
    askWhenChanged(name)
  }

  /// Asks a plugin again when its file has changed.
  func askWhenChanged(_ name: String) {
    guard let path = files[name], watched.insert(name).inserted else { return }
    let directory = String(path.dropLast(Self.prefix.count + name.count + 1))
    do throws(SystemCallError) {
      if watch == nil {
        let new = try PluginFileWatch()
        try loop.watch(new.descriptor, for: .readable) { [weak self] in self?.filesChanged() }
        watch = new
      }
      loop.blocking.run(on: Self.subject(directory), { [watch] in watch?.add(directory) }, then: { _ in })
    } catch {
      // No inotify instance is left. The looks at longer and longer intervals remain.
    }
  }

  private func filesChanged() {
    for file in watch?.collect() ?? [] where file.hasPrefix(Self.prefix) {
      lookSoon(String(file.dropFirst(Self.prefix.count)))
    }
  }

  private func lookSoon(_ name: String) {
    guard !isStopped, watched.contains(name), probes[name] == nil else { return }
    loop.timers.cancel(pauses[name])
    askLater(name, after: patience.retryDelay / 5, triesLeft: Self.retries)
  }

  private func lookLater(_ name: String) {
    let looks = absent[name] ?? 0
    absent[name] = looks + 1
    loop.timers.cancel(pauses[name])
    askLater(name, after: patience.absence(afterLooks: looks), triesLeft: Self.retries)
  }

  /// The plugin has answered.
  private func isBack(_ name: String) {
    absent[name] = nil
    missing.remove(name)
    watched.remove(name)
    if watched.isEmpty { endWatch() }
  }

  private func endWatch() {
    if let watch { loop.unwatch(watch.descriptor) }
    watch = nil
  }

  deinit { endWatch() }

  // MARK: Asking

  private func ask(_ name: String, triesLeft: Int) {
    guard let path = files[name], probes[name] == nil else { return }
    do {
      let program = Program(path: path, arguments: ["describe"], environment: environment)
      let bounds = confinement.map { confinement in
        { @Sendable in confinement.bounds(of: path, needs: nil) }
      }
      let process = try ChildProcess(
        program, confinement: bounds, longestLine: Self.outputLimit, loop: loop, starter: starter,
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
    case .success(let plugin):
      isBack(name)
      news.plugins.append(plugin)
    case .failure(let failure):
      if absent[name] != nil, pauses[name] == nil { lookLater(name) }
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
    endWatch()
    for timer in pauses.values { loop.timers.cancel(timer) }
    pauses = [:]
    for (name, probe) in probes {
      loop.timers.cancel(probe.timer)
      if probe.process.isStarting { probes[name] = nil } else { probe.process.signal(SIGKILL) }
    }
  }
}
