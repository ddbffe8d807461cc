import CoreData
import Foundation
import Jobs
import PoolClient
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// A pool at a server that takes over from a dead one of its queue directory, before its plugins have described
/// themselves.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct DeadPoolTests {
  private let schema = "dead_\(UInt32.random(in: 0 ... .max))"
  private let directory = temporaryURL("dead")
  private static let dead: Int64 = 77

  /// A pool whose one job has died with two pools already, and with the one before this.
  private func open(_ events: Collected<JobSourceEvent>) throws -> StoreJobSource {
    let layout = QueueLayout(root: directory.path)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try layout.create()
    let store = try JobStore(url: PostgreSQLServer.shared.url(schema: schema), model: NSManagedObjectModel())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.insert([JobRequest(kind: "index")], into: context)
      var member = PoolMember(host: "here", pid: 1, queue: directory.path)
      member.identity = Self.dead
      store.insert(member, into: context)
      try PoolOwner(pid: 1, queue: directory.path, pool: "me", ledger: "none", member: Self.dead)
        .write(isShared: true, in: context)
      try context.save()
    }
    try PostgreSQLServer.shared.psql(#"UPDATE \#(schema)_wp."PoolJob" SET claimant = \#(Self.dead), "hostDeaths" = 2"#)
    let source = try StoreJobSource(
      store: store, layout: layout, successor: Successor(queue: directory.path, identity: "me"),
      writeTurn: layout.writeTurn)
    try source.prepare()
    source.start { events.add($0) }
    return source
  }

  private func close(_ source: StoreJobSource, _ events: Collected<JobSourceEvent>) throws {
    source.finish()
    #expect(events.wait { $0.contains(.finished) })
    try FileManager.default.removeItem(at: directory)
    try PostgreSQLServer.shared.psql("DROP SCHEMA IF EXISTS \(schema), \(schema)_wp CASCADE")
  }

  private func hasJudged(_ events: [JobSourceEvent]) -> Bool {
    events.contains { if case .logged(let record) = $0 { record.event == .hostGone } else { false } }
  }

  /// The state of the job, its crashes and the deaths of its pools.
  private func job() throws -> String {
    try PostgreSQLServer.shared.psql(#"SELECT state, crashes, "hostDeaths" FROM \#(schema)_wp."PoolJob""#)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Waits until the death is known, and its judgement put off.
  private func waitForDeath(_ source: StoreJobSource) throws {
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    while source.kinds.withLock(\.unjudged.isEmpty), try job().hasPrefix("0"), Date() < end { poll(nil, 0, 5) }
  }

  @Test func aSuspectIsJudgedByWhatItsPluginSays() throws {
    let events = Collected<JobSourceEvent>()
    let source = try open(events)
    try waitForDeath(source)
    // Another plugin describes itself first.
    source.setKinds([PluginDescription.Kind(kind: "export")], areAll: false)
    try waitForDeath(source)
    #expect(try job() == "0|0|2" && !hasJudged(events.all))
    var kind = PluginDescription.Kind(kind: "index")
    kind.maxCrashes = 1_000_000
    source.setKinds([PluginDescription.Kind(kind: "export"), kind], areAll: false)
    #expect(events.wait(until: hasJudged))
    #expect(try job() == "2|3|3", "it waits for its next attempt")
    try close(source, events)
  }

  /// No plugin runs the kind, or the one that does so cannot describe itself: the default holds.
  @Test func aSuspectOfAKindThatNobodyKnowsIsJudgedByTheDefault() throws {
    let events = Collected<JobSourceEvent>()
    let source = try open(events)
    try waitForDeath(source)
    #expect(try job() == "0|0|2")
    source.setKinds([PluginDescription.Kind(kind: "export")], areAll: true)
    #expect(events.wait(until: hasJudged))
    #expect(try job().hasPrefix("4|3|"), "it is dead")
    try close(source, events)
  }
}
