import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// A program whose file cannot be opened for now, as on a server that does not answer: a process has a lease on it, and
/// one that opens it waits, in execve(2), too, until that is given back or /proc/sys/fs/lease-break-time is over
/// (fcntl(2), F_SETLEASE).
private final class HangingProgram {
  let path: String
  let directory: String
  private let descriptor: Int32
  /// F_SETLEASE, which fcntl.h shows under _GNU_SOURCE only.
  private static let setLease: Int32 = 1024

  init(name: String) throws {
    let url = temporaryURL("hang")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    directory = url.path
    path = directory + "/" + name
    try FileManager.default.copyItem(atPath: PoolHarness.fakeWorker, toPath: path)
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    // The kernel tells the holder that a process waits; this one does not give way.
    signal(SIGIO, SIG_IGN)
  }

  /// From now on the program hangs for who starts it.
  func hang() { #expect(fcntl(descriptor, Self.setLease, F_WRLCK) == 0, "the file system knows no leases") }

  func goOn() { _ = fcntl(descriptor, Self.setLease, F_UNLCK) }

  deinit {
    goOn()
    close(descriptor)
    try? FileManager.default.removeItem(atPath: directory)
  }
}

/// Lets the program hang when the plugin has described itself.
private final class HangsWhenFound: SupervisorDelegate {
  let program: HangingProgram
  var hasHung = false
  var isStopped = false

  init(_ program: HangingProgram) { self.program = program }

  func pluginsChanged(_ plugins: [Plugin]) {
    if !hasHung, !plugins.isEmpty {
      program.hang()
      hasHung = true
    }
  }

  func supervisorStopped() { isStopped = true }
  func demand() -> [String: Int] { [:] }
  var busyWorkers: Set<WorkerID> { [] }
  func work(of id: WorkerID) -> String? { nil }
  func takes(_ line: String, of id: WorkerID) -> Bool { false }
  func connect(_ id: WorkerID, _ connection: Connection) {}
  func drain(_ id: WorkerID) {}
  func workerDied(_ id: WorkerID, _ obituary: Obituary) {}
  func nothingCanBeStarted() {}
}

@Suite(.serialized, .ownThreads) struct HangingProgramTests {
  private let loop: EventLoop
  private let log = Collected<String>()
  private let program: HangingProgram
  private let delegate: HangsWhenFound

  init() throws {
    loop = try EventLoop()
    program = try HangingProgram(name: "worker-mute")
    delegate = HangsWhenFound(program)
  }

  private func supervisor(helloTimeout: Double) throws -> Supervisor {
    let supervisor = try Supervisor(
      loop: loop, log: Log { [log] in log.add($0) },
      configuration: .init(
        pluginDirectories: [program.directory], workers: 1, environment: [:], helloTimeout: helloTimeout,
        killDelay: 0.1))
    supervisor.delegate = delegate
    supervisor.reload()
    return supervisor
  }

  /// Turns the loop until the condition holds; each turn has to be short.
  private func turn(until isSatisfied: () -> Bool) {
    while !isSatisfied() {
      let start = Clock.now
      loop.turn(milliseconds: 100)
      #expect(Clock.now - start < Double(TestLimit.seconds), "the loop hangs with the program")
    }
  }

  @Test func aPluginWhoseFileSystemHangsIsToldApartAndStartedWhenItAnswers() throws {
    let supervisor = try supervisor(helloTimeout: 0.5)
    turn { supervisor.failures["mute"] != nil }
    #expect(supervisor.failures["mute"] == .hangs(path: program.path, seconds: 0.5))
    #expect(log.all.contains { $0.contains("its file system does not answer") })
    #expect(supervisor.workers.isEmpty, "its slot is free for others")
    program.goOn()
    turn { log.all.contains { $0.contains("is started as worker") } }
    #expect(log.all.contains { $0.contains("worker-mute can be started again") })
    supervisor.killAll()
    turn { delegate.isStopped }
    #expect(supervisor.workers.isEmpty)
  }

  @Test func aProgramThatHangsKeepsNoPoolFromEnding() throws {
    let supervisor = try supervisor(helloTimeout: 600)
    turn { supervisor.workers.values.contains { $0.process?.isStarting == true } && delegate.hasHung }
    supervisor.stop(deadline: 0)
    turn { delegate.isStopped }
    #expect(supervisor.workers.isEmpty)
  }

  @Test func aStartThatOutlivesItsStarterLeavesNoZombie() throws {
    var starter: ProcessStarter? = try ProcessStarter(loop: loop)
    program.hang()
    let pipe = try PipeEnds()
    let request = SpawnRequest(
      Program(path: program.path, environment: [:]), confinement: nil, output: pipe.writing, errors: pipe.writing,
      connection: nil)
    _ = starter?.start(request) { _ in Issue.record("it cannot start while its file hangs") }
    var child: pid_t = 0
    turn {
      let children = starter?.threadIDs.compactMap { KernelFile.text("/proc/self/task/\($0)/children") } ?? []
      child = children.first.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
      return child > 0
    }
    starter = nil
    program.goOn()
    let end = Clock.now + Double(TestLimit.seconds)
    // A zombie can be sent signals, too.
    turn { kill(child, 0) != 0 || Clock.now > end }
    #expect(kill(child, 0) != 0, "its end is waited for")
  }
}
