import Foundation
import Glibc
import LinuxSystem
import PoolClient

/// Replaces the program of a running pool in place: in the same process, with the same workers, which go on with their
/// jobs.
///
/// The new program first says in a process of its own whether it could take over. Then nothing is handed out and no
/// process is started until all that the pool does is at rest, which the hand-over cannot describe: ends of jobs that
/// are being written, processes that come or go. At that moment execve(2) replaces the program. What goes wrong before
/// leaves the pool as it was; what goes wrong after leaves what a killed pool leaves.
final class Reexec {
  /// Seconds that the new program has to answer.
  private static let checkTime = 60.0
  /// Seconds that the pool has to come to rest, where the request does not say.
  static let patience = 30.0
  /// Seconds after which work in the store that can be done again is not waited for.
  private static let storePatience = 5.0
  /// Seconds after which clients that wait for a reply lose their connection. Nothing is handed out meanwhile.
  private static let replyPatience = 0.5
  /// Seconds between two looks whether the pool is at rest.
  private static let pause = 0.02

  private struct Attempt {
    let program: String
    let arguments: [String]
    let client: StatusServer.Client
    let deadline: Double
    /// The process of the new program that is asked.
    var check: ChildProcess?
    var said: [String] = []
    var complaints: [String] = []
    /// Since when the pool comes to rest; nil before the new program has answered.
    var restsSince: Double?
    var timer: TimerQueue.Token?
  }

  private let core: PoolCore
  private let supervisor: Supervisor
  private let workers: WorkerService
  private let manager: ServiceManager?
  private var attempt: Attempt?

  init(_ core: PoolCore, _ supervisor: Supervisor, _ workers: WorkerService, _ manager: ServiceManager?) {
    self.core = core
    self.supervisor = supervisor
    self.workers = workers
    self.manager = manager
  }

  /// Begins to replace the program; the client gets its reply when that has failed, or is about to happen.
  func begin(_ request: StatusRequest, for client: StatusServer.Client) {
    guard let commandLine = core.configuration.commandLine, core.configuration.locks != nil else {
      return refuse(client, Self.reasonForNone(core.configuration))
    }
    if core.isStopping { return refuse(client, "the pool is stopping") }
    if attempt != nil { return refuse(client, "the program is being replaced already") }
    let program = request.program ?? Self.ownPath(commandLine[0])
    let begun = Attempt(
      program: program, arguments: Array(commandLine.dropFirst()), client: client,
      deadline: request.deadline ?? Self.patience)
    do {
      attempt = begun
      attempt?.check = try check(program, begun.arguments)
    } catch {
      return fail("\(error)")
    }
    attempt?.timer = core.loop.timers.after(Self.checkTime) { [weak self] in
      self?.fail("\(program) has not said within \(Int(Self.checkTime)) s whether it can take over")
    }
  }

  private static func reasonForNone(_ configuration: PoolConfiguration) -> String {
    configuration.place.isServer
      ? "a pool whose store is at a server cannot be replaced in place, since its session with the server would end: "
        + "stop it and start it again; the other pools go on"
      : "this pool is a part of another program, which alone can replace itself"
  }

  /// The path at which this program was started, or that of its file.
  private static func ownPath(_ word: String) -> String {
    if word.contains("/") { return URL(fileURLWithPath: word).path }
    let path = PoolConfiguration.executablePath
    let mark = " (deleted)"
    return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
  }

  private func refuse(_ client: StatusServer.Client, _ reason: String) {
    core.log(.trouble, "the pool's program is not replaced: \(reason)")
    client.reply(StatusReply(ok: false, error: reason))
  }

  /// The pool goes on as before.
  private func fail(_ reason: String) {
    guard let attempt else { return }
    core.loop.timers.cancel(attempt.timer)
    self.attempt = nil
    if attempt.restsSince != nil { release() }
    refuse(attempt.client, reason)
    // The end of a turn sends the reply and hands out jobs.
    core.loop.inNextTurn {}
  }

  private func release() {
    core.coordinator.isHeld = false
    core.coordinator.mustDispatch = true
    supervisor.release()
  }

  // MARK: The question to the new program

  private func check(_ path: String, _ arguments: [String]) throws -> ChildProcess {
    let file = try document().file()
    var program = Program(path: path, arguments: arguments, environment: ProcessInfo.processInfo.environment)
    program.environment[Handover.variable] = Handover.Request.text(check: Program.inheritedDescriptor)
    return try ChildProcess(
      program, connection: file, loop: core.loop, starter: supervisor.starter,
      onStart: { [weak self] error in
        if let error { self?.fail(error.explained) }
      },
      onLine: { [weak self] line in
        if line.isError { self?.attempt?.complaints.append(line.text) } else { self?.attempt?.said.append(line.text) }
      },
      onDeath: { [weak self] death in self?.answered(death) })
  }

  private func answered(_ death: Death) {
    guard let attempt else { return }
    guard death == .exited(code: 0), attempt.said.contains(HandoverCheck.answer) else {
      let words = attempt.complaints.suffix(3).map { $0.replacing("workerpool run: ", with: "") }
      let reason = words.isEmpty ? "it \(death), and did not say that it can take over" : words.joined(separator: " ")
      return fail("\(attempt.program): \(reason)")
    }
    core.loop.timers.cancel(attempt.timer)
    self.attempt?.restsSince = Clock.now
    supervisor.hold()
    lookAgain()
  }

  // MARK: Coming to rest

  private func lookAgain() {
    // The end of each turn looks.
    attempt?.timer = core.loop.timers.after(Self.pause) { [weak self] in self?.lookAgain() }
  }

  /// Replaces the program if the pool is at rest. Called at the end of each turn, when all that was decided in it is
  /// carried out.
  func endTurn() {
    guard let attempt, let since = attempt.restsSince else { return }
    if core.isStopping { return fail("the pool is stopping") }
    // While workers finish that cannot be handed over, the others get jobs.
    core.coordinator.isHeld = supervisor.workers.values.allSatisfy(\.survivesReexec)
    guard let obstacle = obstacle(attempt, after: Clock.now - since) else { return replace(attempt) }
    if Clock.now - since >= attempt.deadline {
      fail("the pool has not come to rest within \(Clock.text(attempt.deadline)): \(obstacle)")
    }
  }

  private func obstacle(_ attempt: Attempt, after seconds: Double) -> String? {
    if let obstacle = supervisor.obstacleToHandingOver ?? workers.obstacleToHandingOver { return obstacle }
    if !core.coordinator.settling.isEmpty { return "the ends of jobs are being written" }
    if !core.withheld.isEmpty { return "jobs are being deleted" }
    if core.source.isBusy, seconds < Self.storePatience { return "the store is being read or written" }
    // Their connections end with this program.
    if seconds < Self.replyPatience, workers.status.hasRequests(but: attempt.client) { return "requests are answered" }
    // The thread could not end, and the process would hang in execve(2).
    return core.loop.blocking.subject.map { "\($0) has not answered" }
  }

  private func document() -> Handover {
    let configuration = core.configuration
    let own = supervisor.configuration
    let isScaled = own.workers != configuration.workers
    let isFixed = own.fixedWorkers != configuration.fixedWorkers
    return Handover(
      queue: URL(fileURLWithPath: configuration.queue).path, store: configuration.store,
      locks: configuration.locks ?? PoolLocks(queue: -1, store: -1), statusSocket: workers.status.listeningSocket,
      workerCount: isScaled ? own.workers : configuration.handover?.workerCount,
      fixedWorkers: isFixed ? own.fixedWorkers : configuration.handover?.fixedWorkers,
      lastWorker: supervisor.lastNumber, hasOtherChildren: supervisor.orphans?.hasOtherChildren,
      plugins: supervisor.plugins, workers: workers.handed, hands: core.coordinator.hands)
  }

  private func replace(_ attempt: Attempt) {
    core.log(
      .note,
      "the program is replaced by \(attempt.program); workers that go on: \(supervisor.workers.count), jobs in their "
        + "hands: \(core.coordinator.hands.jobs.count)")
    attempt.client.reply(StatusReply(count: core.coordinator.hands.jobs.count))
    workers.status.flush()
    workers.writeOutput()
    core.configuration.log.flush()
    manager?.giveSignOfLife()
    let error = document().replaceProgram(attempt.program, attempt.arguments)
    // The client has its reply, and finds out.
    core.loop.timers.cancel(attempt.timer)
    self.attempt = nil
    release()
    core.log(.trouble, "the pool's program is not replaced: \(error)")
  }
}
