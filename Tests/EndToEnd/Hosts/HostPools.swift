import Foundation
import TestFiles
import Testing

/// Pools with queue directories of their own on one store at a server, as on several hosts.
///
/// Jobs of the kind `counted` leave an item with their number in the store, and a line in a file outside.
final class HostPools {
  let place: TestPlace
  let model: String
  let plugins: String
  /// The URL of the store.
  let store: String
  /// The schema of the app's tables.
  let schema: String
  /// Where the tests look into the database.
  private var address: String
  private var recordsEnds = false

  /// - Parameters:
  ///   - address: where the tests look into the database, as libpq takes it.
  ///   - poolAddress: where the pools do that; the same if nil.
  ///   - prefix: what the name of the schema begins with.
  ///   - model: writes the model; without it there is one entity, `Item`, for jobs of the kind `counted`.
  ///   - worker: the plugin that comes along with `workerpool`; the tests' plugin if nil.
  init(
    at address: String = PostgreSQLServer.shared.address(), pools poolAddress: String? = nil,
    schemaPrefix prefix: String = "hosts_", model: ((TestPlace) throws -> String)? = nil, worker: String? = nil
  ) throws {
    place = try TestPlace()
    schema = "\(prefix)\(UInt32.random(in: 0 ... .max))"
    self.address = address
    store = "\(poolAddress ?? address)&schema=\(schema)"
    self.model = try (model ?? Self.writeModel)(place)
    if let worker {
      plugins = try place.plugins(worker)
    } else {
      plugins = try place.plugins()
      try FileManager.default.createSymbolicLink(
        atPath: plugins + "/worker-test", withDestinationPath: Built.path("test-worker"))
    }
  }

  private static func writeModel(into place: TestPlace) throws -> String {
    try place.write(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
        <entity name="Item" representedClassName="Item" syncable="YES">
          <attribute name="value" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
        </entity>
      </model>
      """, to: "Items.xcdatamodel/contents")
    return place.path("Items.xcdatamodel")
  }

  deinit { _ = try? ask(dropping) }

  /// Drops both schemas.
  func drop() throws { try psql(dropping) }

  private var dropping: String {
    #"DROP SCHEMA IF EXISTS "\#(schema)" CASCADE; DROP SCHEMA IF EXISTS "\#(schema)_wp" CASCADE"#
  }

  /// Looks into another database from now on.
  func look(at address: String) { self.address = address }

  /// Starts the pool of a host.
  ///
  /// - Parameters:
  ///   - counts: whether it runs jobs of the kind `counted`, or else the other kinds of the tests' plugin.
  ///   - poolAddress: where this pool finds the server, if that is not the place of all pools.
  ///   - prefix: a program with arguments that runs the pool.
  ///   - environment: further variables of the pool and its workers.
  ///   - program: the `workerpool` of another version.
  ///   - plugins: another directory of plugins.
  func start(
    _ host: String, workers: Int = 1, options: [String] = [], counts: Bool = true, at poolAddress: String? = nil,
    behind prefix: [String] = [], environment: [String: String] = [:],
    program: String = Built.path("workerpool"), plugins: String? = nil
  ) throws -> RunningPool {
    let pool = try RunningPool(
      place, store: poolAddress.map { "\($0)&schema=\(schema)" } ?? store, model: model,
      plugins: plugins ?? self.plugins,
      workers: workers, options: options,
      environment: environment.merging(counts ? ["TEST_WORKER_COUNTS": "1"] : [:]) { $1 }, queue: host, behind: prefix,
      program: program)
    try recordEnds()
    return pool
  }

  /// Lets the server note which pool each job was claimed by when it succeeded. The jobs do not tell it any more.
  private func recordEnds() throws {
    if recordsEnds { return }
    recordsEnds = true
    try psql(
      """
      CREATE TABLE \(table("ended")) (claimant bigint, at timestamptz DEFAULT clock_timestamp()); \
      CREATE FUNCTION \(table("note_end"))() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN \
      INSERT INTO \(table("ended")) VALUES (OLD.claimant); RETURN NULL; END $$; \
      CREATE TRIGGER note_end AFTER UPDATE OF state ON \(table("PoolJob")) FOR EACH ROW WHEN (NEW.state = 3) \
      EXECUTE FUNCTION \(table("note_end"))()
      """)
  }

  /// Puts one file with jobs of these numbers into a host's queue.
  ///
  /// - Parameter more: further members of each job, in which `NUMBER` stands for its number.
  func submit(_ numbers: Range<Int>, to host: String, milliseconds: Int = 0, more: String = "") throws {
    let jobs = numbers.map { number in
      #"{"kind": "counted", "parameters": {"number": \#(number), "file": "\#(lines)", "milliseconds": "#
        + "\(milliseconds)}\(more.replacingOccurrences(of: "NUMBER", with: String(number)))}"
    }
    try drop(jobs, as: "jobs-\(numbers.lowerBound).json", on: host)
  }

  /// Puts one file with these jobs into a host's queue.
  func drop(_ jobs: [String], as name: String, on host: String) throws {
    let file = try place.write(jobs.joined(separator: "\n"), to: name)
    try FileManager.default.moveItem(atPath: file, toPath: place.path("\(host)/incoming/\(name)"))
  }

  /// Ends the session of a host's pool at the server, as a broken network does.
  func endSession(of host: String) throws {
    let identity = try psql(
      "SELECT identity FROM \(table("PoolMember")) WHERE queue LIKE '%/\(host)' AND \"goneAt\" IS NULL")
    try psql(
      """
      SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
      AND classid::bigint << 32 | objid::bigint = \(identity)
      """)
  }

  /// The file outside the store.
  var lines: String { place.path("lines") }

  /// What `psql` answers to a query.
  @discardableResult
  func psql(_ query: String) throws -> String {
    let finished = try ask(query)
    try #require(finished.code == 0, "\(finished.errors)")
    return finished.output.trimmingCharacters(in: .newlines)
  }

  /// The same; nil while no server answers that takes writes.
  func answer(_ query: String) throws -> String? {
    let finished = try ask(query)
    return finished.code == 0 ? finished.output.trimmingCharacters(in: .newlines) : nil
  }

  private func ask(_ query: String) throws -> Finished {
    try run("/usr/bin/env", ["psql", "-X", address, "-Atc", query])
  }

  /// The name of one of the pool's tables.
  func table(_ name: String) -> String { #""\#(schema)_wp"."\#(name)""# }

  /// The numbers in the store, each as often as an effect is there.
  func effects() throws -> [Int] {
    try psql(#"SELECT value FROM "\#(schema)"."Item" ORDER BY value"#).split(separator: "\n").compactMap { Int($0) }
  }

  /// How many jobs each pool has done, by its host's queue directory.
  func done() throws -> [String: Int] {
    let rows = try psql(
      """
      SELECT regexp_replace(m.queue, '.*/', ''), count(*) FROM \(table("ended")) e \
      JOIN \(table("PoolMember")) m ON m.identity = e.claimant GROUP BY 1
      """)
    return rows.split(separator: "\n").reduce(into: [:]) { done, row in
      let parts = row.split(separator: "|")
      done[String(parts[0])] = Int(parts[1])
    }
  }

  /// The longest time without the end of a job on a host, in seconds, among the times that ended since a moment.
  func longestPause(of host: String, since moment: Date) throws -> Double {
    let pause = try psql(
      """
      SELECT extract(epoch FROM max(pause)) FROM (SELECT e.at, e.at - lag(e.at) OVER (ORDER BY e.at) AS pause \
      FROM \(table("ended")) e JOIN \(table("PoolMember")) m ON m.identity = e.claimant \
      WHERE m.queue LIKE '%/\(host)') p \
      WHERE at > to_timestamp(\(moment.timeIntervalSince1970))
      """)
    return Double(pause) ?? 0
  }

  /// How many jobs have succeeded.
  func succeeded() throws -> Int {
    Int(try psql("SELECT count(*) FROM \(table("PoolJob")) WHERE state = 3")) ?? 0
  }

  /// Waits until the first `count` jobs have ended, checks that each took effect once, and prints a summary.
  ///
  /// - Parameters:
  ///   - what: what the hosts went through, and how often.
  ///   - start: when that began.
  ///   - details: further lines of the summary.
  func checkEnds(ofFirst count: Int, after what: String, since start: Date, _ details: [String]) throws {
    try waitUntil("all jobs have ended") { try succeeded() == count }
    let effects = try effects()
    let lost = Set(0..<count).subtracting(effects).count
    let doubled = effects.count - Set(effects).count
    let outside = try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n").count
    let summary =
      "\(count) jobs, \(what) in \(Int(-start.timeIntervalSinceNow)) s; lost \(lost), doubled \(doubled); outside the "
      + "store \(outside - count) attempts were repeated"
    print(([summary] + details).joined(separator: "\n"))
    #expect(lost == 0 && doubled == 0, "\(summary)")
    try checkEffects(0..<count)
  }

  func waitForEffects(_ count: Int) throws {
    try waitUntil("\(count) effects") { try effects().count >= count }
  }

  /// Every job is there, done once.
  func checkEffects(_ numbers: Range<Int>, location: SourceLocation = #_sourceLocation) throws {
    #expect(try effects() == Array(numbers), sourceLocation: location)
    try waitUntil("all jobs have succeeded") {
      try psql("SELECT count(*) FROM \(table("PoolJob")) WHERE state <> 3") == "0"
    }
    #expect(try psql("SELECT count(*) FROM \(table("PoolJob"))") == "\(numbers.count)", sourceLocation: location)
  }
}
