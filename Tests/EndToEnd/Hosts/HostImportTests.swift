import Foundation
import TestFiles
import Testing

/// `iso-codes` comes through the queue of one host, and the workers of two import it.
@Suite(.enabled(if: PostgreSQLServer.isInstalled && ISOCodes.areThere), .timeLimit(.minutes(20)))
struct HostImportTests {
  /// Rows of a job: files of so few that there are jobs enough for both hosts.
  private static let rowsOfAFile = 250

  /// Cuts a table into files, and says how each is imported.
  private func jobs(_ place: TestPlace, _ table: ISOTable, _ entity: String, key: String, more: String = "") throws
    -> [String]
  {
    try stride(from: 0, to: table.count, by: Self.rowsOfAFile).map { start in
      let rows = Array(table.rows[start..<min(start + Self.rowsOfAFile, table.count)])
      let text = String(decoding: try JSONSerialization.data(withJSONObject: rows), as: UTF8.self)
      let file = try place.write(text, to: "\(entity)-\(start).json")
      let parameters = #"{"file":"\#(file)","entity":"\#(entity)","key":"\#(key)"\#(more)}"#
      // Two hosts that make the same country at once: one of them runs its job again.
      return #"{"kind":"import","maxAttempts":100,"backoff":0.1,"parameters":\#(parameters)}"#
    }
  }

  @Test func twoHostsImportWhatCameThroughTheQueueOfOne() throws {
    let hosts = try HostPools(model: ISOCodesModel.write, worker: "worker-import")
    let (countries, subdivisions, languages) = (try ISOTable("3166-1"), try ISOTable("3166-2"), try ISOTable("639-3"))
    let relationships = #"""
      ,"relationships":{"country":{"key":"alpha_2","value":"{code:before:-}"},\#
      "parent":{"key":"code","value":"{parent}","prefix":"{code:before:-}-"}}
      """#
    let jobs =
      try jobs(hosts.place, countries, "Country", key: "alpha_2")
      + jobs(hosts.place, subdivisions, "Subdivision", key: "code", more: relationships)
      + jobs(hosts.place, languages, "Language", key: "alpha_3")
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 1, counts: false) }
    try hosts.drop(jobs, as: "iso-codes.json", on: "a")
    try waitUntil("all files are imported") {
      let rejected = try FileManager.default.contentsOfDirectory(atPath: pools[0].queue + "/rejected")
      try #require(rejected.isEmpty, "\(rejected)")
      return try hosts.succeeded() == jobs.count
    }

    let table = { (name: String) in #""\#(hosts.schema)"."\#(name)""# }
    let tables = [("Country", countries), ("Subdivision", subdivisions), ("Language", languages)]
    for (name, rows) in tables {
      #expect(try hosts.psql("SELECT count(*) FROM \(table(name))") == "\(rows.count)")
    }
    #expect(try hosts.psql("SELECT count(*) FROM \(table("Subdivision")) WHERE country IS NULL") == "0")
    #expect(
      try hosts.psql("SELECT count(*) FROM \(table("Subdivision")) WHERE parent IS NOT NULL")
        == "\(subdivisions.count(having: "parent"))")
    let city = """
      SELECT s.name, c.alpha_3, p.code FROM \(table("Subdivision")) s JOIN \(table("Country")) c ON c._key = s.country \
      JOIN \(table("Subdivision")) p ON p._key = s.parent WHERE s.code = 'AZ-BAB'
      """
    #expect(try hosts.psql(city) == "Babək|AZE|AZ-NX")
    // Both take their share: a job that the other could begin does not wait.
    let done = try hosts.done()
    print("\(jobs.count) jobs of \(tables.map(\.1.count).reduce(0, +)) rows: \(done)")
    #expect(["a", "b"].allSatisfy { done[$0, default: 0] >= jobs.count / 4 }, "\(done)")
    for pool in pools { try pool.stop() }
  }
}
