import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// What a pool hands over to the program that takes its place.
@Suite(.ownThreads) struct HandoverTests {
  private let worker = WorkerID(number: 7)

  /// A worker that has begun one job of two.
  private var hands: Hands {
    var hands = Hands()
    hands.add(worker, kinds: ["index"])
    _ = hands.setCredit(4, of: worker)
    for key: Int64 in [1, 2] {
      let job = WindowJob(
        key: key, kind: "index", queue: "mail", priority: 3, attempt: 2, timeout: 60, limitKey: "customer")
      hands.take(job, by: worker, pickedAmong: ["mail"], alone: false, now: 100)
    }
    hands.begin([1], by: worker, withOthers: false, now: 101)
    hands.setProgress(of: 1, done: 3, total: 9)
    _ = hands.cancel(1, now: 102)
    return hands
  }

  private func handover(_ hands: Hands) throws -> Handover {
    let description = PluginDescription(
      name: "test", version: "1", protocolVersions: [2], kinds: [.init(kind: "index", timeout: 60)])
    let plugin = Plugin(name: "test", path: "/plugins/worker-test", description: description)
    let child = ChildProcess.Handed(pid: 4711, output: .init(pipe: 11, pending: [65]), errors: nil)
    let process = HandedWorker(
      id: worker, plugin: "test", child: child, state: .up, hasGivenSlotAway: false, startedAt: 90, upSince: 91,
      drainingSince: nil, hasWorked: true, jobsDone: 5, jobLimit: 10, replaces: nil, isOutdated: false,
      lastLines: ["a warning"], memoryGroup: MemoryGroup(folder: "/group", limit: 1 << 30))
    var buffers = Connection.Buffers()
    buffers.unread = Array("DO".utf8)
    buffers.unsent = Array("PING\n".utf8)
    let usage = UsageMeter.Handed(
      askedAt: 100, resources: try #require(ProcessResources(of: getpid())),
      ended: [.init(kind: "index", seconds: 4)], bases: [1: 1.5])
    return Handover(
      queue: "/queue", store: "/app.sqlite", locks: PoolLocks(queue: 5, store: 6), statusSocket: 7, workerCount: 3,
      fixedWorkers: nil, lastWorker: 9, hasOtherChildren: false, plugins: [plugin],
      workers: [.init(process: process, socket: 12, buffers: buffers, leavesRows: true, usage: usage)], hands: hands)
  }

  @Test func allThatIsHandedOverIsReadAgain() throws {
    let written = try handover(hands)
    let file = try written.file()
    #expect(fcntl(file.number, F_GETFD) == FD_CLOEXEC)
    let text = FileHandle(fileDescriptor: file.number, closeOnDealloc: false).readDataToEndOfFile()
    let read = try Handover(text)
    #expect(read.plugins == written.plugins)
    #expect(read.workers.map(\.process) == written.workers.map(\.process))
    #expect(read.workers.map(\.buffers) == written.workers.map(\.buffers))
    #expect(read.workers.map(\.usage) == written.workers.map(\.usage))
    #expect(read.descriptors == [5, 6, 7, 12, 11] && read.processes == [4711] && read.workerCount == 3)
    #expect(Set(read.sheets.keys) == [1, 2] && read.sheets == written.sheets)
    // The jobs go on where they were, and those of a worker that is gone are left out.
    var adopted = Hands()
    adopted.adopt(read.hands, [worker: [1: 30, 2: 31]])
    #expect(adopted.workers[worker]?.held == [1, 2] && adopted.workers[worker]?.begun == [1])
    #expect(adopted.workers[worker]?.freeCredit == 2)
    let held = try #require(adopted.jobs[1])
    #expect(held.job == hands.jobs[1]?.job && held.run == 1 && held.begunAt == 101 && held.isCancelled)
    #expect(held.progress?.done == 3 && held.deadline == 102 + Coordinator.stopGrace && held.ledgerIndex == 30)
    #expect(adopted.nextTime == hands.nextTime)
    var without = Hands()
    without.adopt(read.hands, [:])
    #expect(without.workers.all.isEmpty && without.jobs.isEmpty)
  }

  @Test func anotherEditionIsRefusedByItsNumber() throws {
    var document = try handover(Hands())
    document.version = Handover.version + 1
    let error = #expect(throws: Handover.Unreadable.self) { try Handover(try JSONEncoder().encode(document)) }
    #expect(error?.description.contains("edition \(Handover.version + 1)") == true)
    #expect(throws: Handover.Unreadable.self) { try Handover(Data(#"{"version": \#(Handover.version)}"#.utf8)) }
    #expect(throws: Handover.Unreadable.self) { try Handover(Data("no JSON".utf8)) }
  }

  /// A program that cannot be executed: the pool goes on with descriptors that no child inherits.
  @Test func aProgramThatCannotBeExecutedChangesNothing() throws {
    let pipe = try PipeEnds()
    let locks = PoolLocks(queue: pipe.reading.number, store: pipe.writing.number)
    let document = Handover(
      queue: "/queue", store: "/app.sqlite", locks: locks, statusSocket: nil, workerCount: nil, fixedWorkers: nil,
      lastWorker: 0, hasOtherChildren: nil, plugins: [], workers: [], hands: Hands())
    let error = document.replaceProgram("/no/such/program", []) as? SystemCallError
    #expect(error?.number == ENOENT)
    #expect(fcntl(pipe.reading.number, F_GETFD) == FD_CLOEXEC && fcntl(pipe.writing.number, F_GETFD) == FD_CLOEXEC)
    #expect(getenv(Handover.variable) == nil)
  }
}
