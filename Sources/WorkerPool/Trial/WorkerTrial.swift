import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
import PoolClient
import WorkerProtocol

/// One worker process that runs one job, without a pool: nothing else is handed to it. For jobs that a person tries on
/// a copy of the store.
package struct WorkerTrial {
  /// How the process left the job. The job's row says more.
  package enum Outcome: Equatable {
    /// Its row says how it ended.
    case ended
    /// The worker gave it back without an attempt.
    case returned
    /// The process died while the job ran.
    case died(String)
    /// The caller wanted no more.
    case interrupted
  }

  private let configuration: PoolConfiguration

  /// - Parameter configuration: says where the store, its model, the queue directory and the plugins are; the store is
  ///   a file that is there.
  package init(_ configuration: PoolConfiguration) {
    var configuration = configuration
    configuration.storeFile = FileID(path: configuration.store)
    // Without the caller nobody looks at the copy.
    configuration.orphanDeadline = 0
    self.configuration = configuration
  }

  /// Seconds that a plugin gets to describe itself, or to say hello.
  private static let patience = 20.0
  /// Seconds that the process gets to end after the job.
  private static let grace = 5.0

  // MARK: The plugin

  /// A plugin that runs a kind: its name, its program, and the kind's own timeout in seconds.
  package typealias Plugin = (name: String, path: String, timeout: Double?)

  /// The plugin that runs a kind.
  ///
  /// - Parameter isInterrupted: asked several times a second.
  /// - Throws: ``TrialError``; `CancellationError` when the caller wants no more.
  package func plugin(for kind: String, isInterrupted: () -> Bool) throws -> Plugin {
    var (kinds, names): (Set<String>, Set<String>) = ([], [])
    for directory in configuration.pluginDirectories {
      for (name, path) in (PluginListings.files(in: directory) ?? [:]).sorted(by: { $0.key < $1.key }) {
        // The first directory that has a name wins.
        guard names.insert(name).inserted, let description = try describe(path, isInterrupted) else {
          continue
        }
        guard let found = description.kinds.first(where: { $0.kind == kind }) else {
          kinds.formUnion(description.kinds.map(\.kind))
          continue
        }
        if description.settledByPool == true { throw TrialError.settledByPool(kind, plugin: name) }
        return (name, path, found.timeout)
      }
    }
    throw TrialError.noPlugin(kind, known: kinds.sorted(), directories: configuration.pluginDirectories)
  }

  /// Nil for a file that does not describe itself.
  private func describe(_ path: String, _ isInterrupted: () -> Bool) throws -> PluginDescription? {
    let environment = configuration.workerEnvironment.filter { $0.key != WorkerVariable.connection.rawValue }
    let program = Program(path: path, arguments: ["describe"], environment: environment)
    guard let (output, pid) = try start(program) else { return nil }
    // It may ignore a gentler signal, and what it has started may hold its output.
    defer { OwnChildren.end(pid) }
    let deadline = Clock.now + Self.patience
    var text: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while Clock.now < deadline, text.count <= PluginProbe.outputLimit {
      if isInterrupted() { throw CancellationError() }
      var watched = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
      guard poll(&watched, 1, 200) > 0 else { continue }
      let count = read(output.number, &part, part.count)
      guard count > 0 else { break }
      text += part[..<count]
    }
    // Nil says that it does not describe itself as a plugin.
    return try? PluginDescription(json: String(decoding: text, as: UTF8.self))
  }

  /// A process with the end of its output; this process keeps nothing else of it. Nil for a file that cannot be
  /// started, which is no plugin; the pool's log tells why.
  private func start(_ program: Program) throws -> (Descriptor, pid_t)? {
    let output = try PipeEnds()
    let nothing = try Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC), "open", path: "/dev/null")
    // Nil says that the program cannot be started.
    guard let pid = try? program.start(output: output.writing, errors: nothing) else { return nil }
    return (output.reading, pid)
  }

  // MARK: The process

  /// Runs the job in a process of the program, which ends before this returns, with all that it has started: this
  /// process has no children afterwards.
  ///
  /// - Parameters:
  ///   - timeout: seconds after which the job should stop; one that does not is killed, as in a pool.
  ///   - isInterrupted: asked several times a second.
  ///   - progress: called with what the job reports of its progress.
  /// - Returns: how it left the job, and the lines that it printed, with the limits of a pool's log.
  /// - Throws: ``TrialError`` when it does not come up, and failed system calls.
  package func run(
    _ job: ObjectURI, in program: String, timeout: Double?, isInterrupted: () -> Bool,
    progress: (_ done: Int, _ total: Int) -> Void
  ) throws -> (outcome: Outcome, printed: [String]) {
    let ends = try PipeEnds()
    var output = try TrialOutput(ends.reading)
    let outcome = try run(
      job, in: program, timeout: timeout, output: ends.writing, to: &output, isInterrupted: isInterrupted,
      progress: progress)
    return (outcome, output.finish())
  }

  private func run(
    _ job: ObjectURI, in program: String, timeout: Double?, output: Descriptor, to printed: inout TrialOutput,
    isInterrupted: () -> Bool, progress: (_ done: Int, _ total: Int) -> Void
  ) throws -> Outcome {
    var process = Program(path: program, environment: configuration.workerEnvironment)
    process.isSubreaper = true
    process.pidVariable = WorkerVariable.pid.rawValue
    // Orphans that have left its process group come to this process.
    _ = csystem_become_subreaper()
    let (connection, pid) = try start(process, output)
    defer { OwnChildren.endAll() }
    var isRunning = true
    defer { if isRunning { OwnChildren.end(pid) } }
    var jobEnd: Double?
    let deadline = Clock.now + Self.patience
    var hasBegun = false
    while true {
      if isInterrupted() { return .interrupted }
      if let timeout, let jobEnd, Clock.now >= jobEnd {
        return .died("did not stop its job, which took longer than \(Clock.text(timeout)), and was killed")
      }
      guard hasBegun || Clock.now < deadline else { throw TrialError.silent(program) }
      var watched = [connection.descriptor, printed.descriptor].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      guard connection.hasMore || poll(&watched, 2, 200) > 0 else { continue }
      printed.readSome()
      guard connection.hasMore || watched[0].revents != 0 else { continue }
      let received = try connection.receive()
      let lines =
        switch received {
        case .lines(let lines), .closed(let lines): lines
        }
      for line in lines {
        switch try WorkerMessage(line: line) {
        case .hello(let version, _):
          guard ProtocolVersion.supported.contains(version) else { throw TrialError.version(version) }
          say([.welcome(version: version), .run([job])], connection)
          hasBegun = true
        case .begin: jobEnd = timeout.map { Clock.now + $0 + Coordinator.stopGrace }
        case .progress(_, let done, let total): progress(done, total)
        case .done, .failed:
          say([.drain], connection)
          awaitEnd(of: pid, &printed)
          return .ended
        case .returned: return .returned
        default: break
        }
      }
      guard case .closed = received else { continue }
      awaitEnd(of: pid, &printed)
      isRunning = false
      let death = Death(waitStatus: OwnChildren.end(pid)).description
      guard hasBegun else { throw TrialError.neverCame(program, death) }
      return .died(death)
    }
  }

  /// The child gets its end of the connection; this process keeps none of it.
  private func start(_ process: Program, _ output: Descriptor) throws -> (Connection, pid_t) {
    let ends = try UnixSocket.pair()
    return (ends.near, try process.start(output: output, errors: output, inherited: ends.far))
  }

  private func say(_ messages: [CoordinatorMessage], _ connection: Connection) {
    connection.send { bytes in for message in messages { message.append(to: &bytes) } }
    // A few bytes: the socket takes them, or the process is gone, which the next reading tells.
    _ = connection.flush()
  }

  /// Waits until the process has ended by itself, for some seconds. It may wait for room in the pipe of its output.
  private func awaitEnd(of pid: pid_t, _ printed: inout TrialOutput) {
    // Without the descriptor it is killed at once, which does no harm: its work is done.
    guard let process = try? Descriptor.ofProcess(pid) else { return }
    let end = Clock.now + Self.grace
    while Clock.now < end {
      var watched = [process.number, printed.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let left = max(0, end - Clock.now)
      if poll(&watched, 2, Int32(left * 1000)) > 0, watched[0].revents != 0 { return }
      printed.readSome()
    }
  }
}

/// Why a job cannot be tried.
package enum TrialError: Error, Hashable, CustomStringConvertible {
  case noPlugin(String, known: [String], directories: [String])
  case settledByPool(String, plugin: String)
  case silent(String)
  case version(Int)
  case neverCame(String, String)

  package var description: String {
    switch self {
    case .noPlugin(let kind, let known, let directories):
      let places = directories.joined(separator: ", ")
      let hint = Spelling.hint(to: kind, among: known, otherwise: "they run \(known.joined(separator: ", "))")
      return "no plugin in \(places) runs the kind \(kind)\(hint); --plugins names another directory"
    case .settledByPool(let kind, let plugin):
      return "jobs of the kind \(kind) cannot be tried: the plugin \(plugin) lets the pool write their ends "
        + "(settledByPool); run a pool on a copy of the store: see `workerpool copy` and the task backup of maintain"
    case .silent(let program): return "\(program) did not say hello"
    case .version(let version): return "the plugin speaks version \(version) of the protocol"
    case .neverCame(let program, let death): return "\(program) \(death) before it said hello"
    }
  }
}
