import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Finds `worker-NAME` files and asks each for its description: all at the same time, and without blocking the loop.
final class PluginDiscovery {
  /// What a round of discovery found.
  struct Result: Equatable {
    var plugins: [Plugin] = []
    /// Files that look like plugins and cannot be used, by plugin name.
    var failures: [String: StartFailure] = [:]
  }

  /// How long `describe` may take, in seconds.
  static let timeout = 10.0
  /// Seconds between two tries while the machine lacks a resource, or after the process was killed, and how many tries
  /// follow the first.
  static let retryDelay = 0.5
  static let retries = 10
  /// What `describe` may print, in bytes, and the lines of its standard error that are kept for the reason of a
  /// failure.
  static let outputLimit = 1 << 20
  private static let keptErrors = 3
  static let prefix = "worker-"

  private let loop: EventLoop
  private let starter: ProcessStarter
  private let environment: [String: String]
  private let confinement: WorkerConfinement?
  private var result = Result()
  private var probes: [String: Probe] = [:]
  /// Plugins that could not be asked, and are asked again.
  private var delayed = 0
  private var isFinished = false
  private let completion: (Result) -> Void

  private struct Probe {
    let process: ChildProcess
    let timer: TimerQueue.Token
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

  /// Searches `directories`, of which the first one that has a plugin's name wins; calls `completion` once, with the
  /// plugins ordered by name.
  ///
  /// - Parameters:
  ///   - environment: what the plugins' processes get.
  ///   - confinement: what confines them; nil for nothing.
  init(
    directories: [String], environment: [String: String], confinement: WorkerConfinement? = nil, loop: EventLoop,
    starter: ProcessStarter, completion: @escaping (Result) -> Void
  ) {
    self.confinement = confinement
    self.loop = loop
    self.starter = starter
    self.environment = environment
    self.completion = completion
    let files = Self.files(in: directories)
    for (name, path) in files { start(name, path) }
    if probes.isEmpty, delayed == 0 { loop.timers.after(0) { [weak self] in self?.finishIfComplete() } }
  }

  /// The processes that are being asked.
  var processes: [pid_t] { probes.values.map(\.process.pid) }

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

  private func start(_ name: String, _ path: String, triesLeft: Int = retries) {
    do {
      var program = Program(path: path, arguments: ["describe"], environment: environment)
      program.confinement = confinement?.bounds(of: path, needs: nil)
      let process = try ChildProcess(
        program, longestLine: Self.outputLimit, loop: loop, starter: starter,
        onStart: { [weak self] error in
          if let error { self?.couldNotStart(name, path, error) }
        },
        onLine: { [weak self] line in
          guard let self, probes[name]?.isTooLong == false else { return }
          probes[name]?.add(line)
          if probes[name]?.isTooLong == true { probes[name]?.process.signal(SIGKILL) }
        }, onDeath: { [weak self] death in self?.finish(name, path, death) })
      let timer = loop.timers.after(Self.timeout) { [weak self] in self?.isLate(name, path) }
      probes[name] = Probe(process: process, timer: timer, triesLeft: triesLeft)
    } catch {
      cannotStart(name, path, error, triesLeft)
    }
  }

  private func cannotStart(_ name: String, _ path: String, _ error: SystemCallError, _ triesLeft: Int) {
    if error.isShortage, triesLeft > 0 { return startLater(name, path, triesLeft: triesLeft - 1) }
    let reason = String(cString: strerror(error.number))
    result.failures[name] = error.isShortage ? .shortage(error.explained) : .notExecutable(path: path, reason: reason)
  }

  private func couldNotStart(_ name: String, _ path: String, _ error: SystemCallError) {
    guard let probe = probes.removeValue(forKey: name) else { return }
    loop.timers.cancel(probe.timer)
    cannotStart(name, path, error, probe.triesLeft)
    finishIfComplete()
  }

  private func isLate(_ name: String, _ path: String) {
    guard let probe = probes[name] else { return }
    if probe.process.isStarting {
      probes[name] = nil
      result.failures[name] = .hangs(path: path, seconds: Self.timeout)
      return finishIfComplete()
    }
    probes[name]?.isLate = true
    probe.process.signal(SIGKILL)
  }

  /// A machine that has run out of processes, memory or descriptors may have some in a moment.
  private func startLater(_ name: String, _ path: String, triesLeft: Int) {
    delayed += 1
    loop.timers.after(Self.retryDelay) { [weak self] in
      guard let self else { return }
      delayed -= 1
      start(name, path, triesLeft: triesLeft)
      finishIfComplete()
    }
  }

  private func finish(_ name: String, _ path: String, _ death: Death) {
    guard let probe = probes.removeValue(forKey: name) else { return }
    loop.timers.cancel(probe.timer)
    // A SIGKILL from a user or from the OOM killer is not the plugin's fault.
    if death == .signalled(SIGKILL), !probe.isLate, !probe.isTooLong, probe.triesLeft > 0 {
      return startLater(name, path, triesLeft: probe.triesLeft - 1)
    }
    do throws(StartFailure) {
      result.plugins.append(try Self.plugin(name, path, probe, death))
    } catch {
      result.failures[name] = error
    }
    finishIfComplete()
  }

  private static func plugin(
    _ name: String, _ path: String, _ probe: Probe, _ death: Death
  ) throws(StartFailure) -> Plugin {
    if probe.isTooLong {
      throw .badDescription(path: path, reason: "it printed more than \(outputLimit >> 20) MiB")
    }
    if probe.isLate { throw .badDescription(path: path, reason: "it did not end within \(Clock.text(timeout))") }
    guard death == .exited(code: 0) else {
      let lines = probe.lastErrors.joined(separator: " | ")
      let lastLines = lines.isEmpty ? "" : "; its last lines: \(lines)"
      throw .badDescription(path: path, reason: "it \(death)\(lastLines)")
    }
    let description: PluginDescription
    do {
      description = try PluginDescription(json: probe.output.joined(separator: "\n"))
    } catch {
      throw .badDescription(path: path, reason: problem(error))
    }
    guard description.protocolVersions.contains(where: ProtocolVersion.supported.contains) else {
      throw .wrongVersion(description.protocolVersions)
    }
    guard !description.kinds.isEmpty, description.kinds.allSatisfy({ isProtocolName($0.kind) }) else {
      throw .badDescription(
        path: path, reason: "it has no job kind, or one whose name is not made of letters and digits")
    }
    guard description.name == name else {
      throw .badDescription(
        path: path, reason: "it gives the name \"\(description.name)\"; its file says that its name is \"\(name)\"")
    }
    if let problem = description.kinds.lazy.compactMap(\.problem).first ?? description.needs?.problem {
      throw .badDescription(path: path, reason: problem)
    }
    return Plugin(name: name, path: path, description: description)
  }

  /// Why the output of `describe` is not a plugin's JSON, with the key that is to blame.
  private static func problem(_ error: any Error) -> String {
    let (path, what): ([any CodingKey], String) =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        (context.codingPath, "has a value that it cannot have")
      default: ([], "")
      }
    // Foundation names no key, and says that it is not JSON, where an integer is expected and the number is none.
    guard !path.isEmpty else {
      return "its output is not the JSON of a plugin, or has a number with a fraction where a whole one is expected"
    }
    return "\"\(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))\" \(what)"
  }

  private func finishIfComplete() {
    guard probes.isEmpty, delayed == 0, !isFinished else { return }
    isFinished = true
    result.plugins.sort { $0.name < $1.name }
    completion(result)
  }
}
