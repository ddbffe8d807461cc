import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// The supervisor counts processes for each job by the order that the table keeps, and never by looking at each.
@Suite struct WorkerTableTests {
  private static let plugins = ["index", "mail", "report"]
  private static let events: [WorkerLife.Event] = [
    .started, .started, .hello, .hello, .hello, .retire, .keep, .drain, .idle, .disconnected, .terminate, .deadline,
    .hung(seconds: 30), .kill(.stopped), .couldNotStart(SystemCallError("spawn", path: "worker", number: 11)),
    .exited(.exited(code: 0)),
  ]

  /// Processes come, change and go as a seed says; after each step the counts are those of a full pass.
  @Test(arguments: UInt64(1)...8) func countsAreThoseOfAFullPass(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var table = WorkerTable()
    var all: [WorkerProcess] = []
    for number in 1...400 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1:
        let worker = makeWorker(number, try #require(Self.plugins.randomElement(using: &random)))
        worker.replaces =
          all.filter { $0.plugin == worker.plugin && $0.life.state == .retiring }
          .first { table.successor(of: $0) == nil }?.id
        all.append(worker)
        table.add(worker)
      case 2: all.randomElement(using: &random)?.becameOutdated(in: &table)
      default:
        guard let worker = all.randomElement(using: &random) else { continue }
        _ = worker.handle(try #require(Self.events.randomElement(using: &random)), in: &table)
        if worker.life.state == .gone {
          table.remove(worker)
          all.removeAll { $0 === worker }
          // An event that comes late, as from a process that came into being after all.
          _ = worker.handle(.keep, in: &table)
        }
      }
      check(table, all)
    }
  }

  private func makeWorker(_ number: Int, _ plugin: String) -> WorkerProcess {
    let description = PluginDescription(name: plugin, version: "1", protocolVersions: [1], kinds: [])
    return WorkerProcess(
      id: WorkerID(number: number), plugin: Plugin(name: plugin, path: "/worker-\(plugin)", description: description),
      helloTimeout: 10)
  }

  private func check(_ table: WorkerTable, _ all: [WorkerProcess]) {
    func ids(_ workers: some Sequence<WorkerProcess>) -> [Int] { workers.map(\.id.number).sorted() }
    func ids(of plugin: String, where isWanted: (WorkerProcess) -> Bool) -> [Int] {
      ids(all.filter { $0.plugin.name == plugin && isWanted($0) })
    }
    #expect(ids(table.values) == ids(all) && table.count == all.count && table.isEmpty == all.isEmpty)
    #expect(table.stayingCount == all.count { $0.life.isStaying })
    #expect(table.spawningCount == all.count { $0.life.state == .spawning })
    #expect(ids(table.leaving) == ids(all.filter { !$0.life.isStaying }))
    for plugin in Self.plugins {
      let staying = ids(of: plugin) { $0.life.isStaying }
      #expect(ids(table.staying(of: plugin)) == staying && table.stayingCount(of: plugin) == staying.count)
      #expect(table.upCount(of: plugin) == ids(of: plugin) { $0.life.state == .up }.count)
      #expect(ids(table.retiring(of: plugin)) == ids(of: plugin) { $0.life.state == .retiring })
      let mustReplace = ids(of: plugin) { $0.life.state == .retiring || $0.life.isStaying && $0.isOutdated }
      #expect(table.mustReplace(of: plugin) == !mustReplace.isEmpty)
      #expect(
        table.occupied { $0 == plugin } == ids(of: plugin) { !$0.life.hasGivenSlotAway }.count)
    }
    for worker in all where worker.life.state == .retiring {
      let hasSuccessor = all.contains { $0.replaces == worker.id && $0.life.isStaying }
      #expect((table.successor(of: worker) != nil) == hasSuccessor && table.holdsSlot(worker) == !hasSuccessor)
    }
  }
}
