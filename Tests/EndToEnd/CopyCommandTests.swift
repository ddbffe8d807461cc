import Foundation
import TestFiles
import Testing

/// `workerpool copy`: a store goes to a server with its jobs, and back.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled)) struct CopyCommandTests {
  /// The URL of a schema that nobody uses, and its name.
  private func newSchema() -> (url: String, name: String) {
    let name = "copied_\(UInt32.random(in: 0 ... .max))"
    return (PostgreSQLServer.shared.url(schema: name).absoluteString, name)
  }

  private func psql(_ query: String) throws -> String {
    let finished = try run(
      "/usr/bin/env", ["psql", "-X", "-h", PostgreSQLServer.shared.directory, "-U", "tests", "postgres", "-Atc", query])
    try #require(finished.code == 0, "\(finished.errors)")
    return finished.output.trimmingCharacters(in: .newlines)
  }

  @Test(.timeLimit(.minutes(20))) func objectsAndJobsGoToAServerAndBackAndGoOn() throws {
    // Given a store with three items, three finished jobs, and three that wait, which name items by their URIs.
    let items = try ItemPool(items: 3)
    let (url, schema) = newSchema()
    defer { _ = try? psql("DROP SCHEMA IF EXISTS \(schema) CASCADE; DROP SCHEMA IF EXISTS \(schema)_wp CASCADE") }
    var pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(3)
    #expect(try workerpool("pause", "--queue", items.queue).code == 0)
    try items.submit("add")
    try waitUntil("the files are taken") { try items.isTaken }
    // When it is copied while the pool runs
    let refused = try workerpool("copy", "--store", items.store, "--to", url)
    // Then nothing happens, and the sentence names the pool
    #expect(refused.code != 0 && refused.errors.contains("stop that one first"), "\(refused)")
    // When the pool has stopped
    try pool.stop()
    let copied = try workerpool("copy", "--store", items.store, "--to", url)
    #expect(
      copied.output == "Item: 3 objects\ncopied 3 objects and 6 jobs to \(url); every value is equal\n"
        && copied.code == 0, "\(copied)")
    #expect(try psql(#"SELECT string_agg(value::text, ',') FROM \#(schema)."Item""#) == "1,1,1")
    // Then a pool at the server runs the jobs that waited, and once.
    pool = try RunningPool(
      items.place, store: url, model: items.model, plugins: items.plugins, workers: 1, queue: "other")
    #expect(try workerpool("resume", "--all", "--queue", items.place.path("other")).code == 0)
    try waitUntil("all jobs are done") {
      try psql(#"SELECT count(*) FROM \#(schema)_wp."PoolJob" WHERE state = 3"#) == "6"
    }
    #expect(try psql(#"SELECT string_agg(value::text, ',') FROM \#(schema)."Item""#) == "2,2,2")
    let second = items.place.path("second.sqlite")
    let inUse = try workerpool("copy", "--store", url, "--model", items.model, "--to", second)
    #expect(inUse.code != 0 && inUse.errors.contains("a pool runs on the store"), "\(inUse)")
    #expect(!FileManager.default.fileExists(atPath: second))
    try pool.stop()
    // And back: the same keys, values and identifiers as in the first file.
    let back = try workerpool("copy", "--store", url, "--model", items.model, "--to", second)
    #expect(back.code == 0 && back.output.contains("copied 3 objects and 6 jobs"), "\(back)")
    let mode = try FileManager.default.attributesOfItem(atPath: second)[.posixPermissions] as? Int
    #expect(mode == 0o600, "others may read the copy of a private store")
    #expect(try sqlite(second, "SELECT Z_PK, ZVALUE FROM ZITEM ORDER BY 1") == "1|2\n2|2\n3|2")
    for query in ["SELECT Z_UUID FROM Z_METADATA", "SELECT Z_UUID FROM WP_METADATA"] {
      #expect(try sqlite(second, query) == sqlite(items.store, query))
    }
    #expect(try sqlite(second, "PRAGMA integrity_check") == "ok")
    // A copy does not take the place of a store.
    let exists = try workerpool("copy", "--store", url, "--model", items.model, "--to", second)
    #expect(exists.code != 0 && exists.errors.contains("already"), "\(exists)")
  }

  /// A value that the destination cannot hold is one of many: the message says whose it is.
  @Test(.timeLimit(.minutes(20))) func aValueThatTheDestinationRefusesIsNamedWithItsObject() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(1)
    try pool.stop()
    _ = try sqlite(items.store, "UPDATE WPPOOLJOB SET ZBATCH = 'se' || char(0) || 'cret'")
    let (url, schema) = newSchema()
    let copied = try workerpool("copy", "--store", items.store, "--to", url)
    #expect(copied.code != 0 && copied.errors.contains("nothing was copied"), "\(copied)")
    #expect(copied.errors.contains("the value of batch of PoolJob/p1 is a text with a NUL character"), "\(copied)")
    #expect(copied.errors.contains("remove the character (U+0000)") && !copied.errors.contains("cret"), "\(copied)")
    #expect(try psql("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "0")
  }

  @Test(.timeLimit(.minutes(20))) func placesThatCannotBeAreRefused() throws {
    let items = try ItemPool()
    let (url, _) = newSchema()
    func refusal(_ arguments: String...) throws -> String {
      let finished = try run(Built.path("workerpool"), ["copy"] + arguments)
      #expect(finished.code != 0 && finished.output.isEmpty, "\(finished)")
      #expect(!finished.errors.contains("Error Domain="), "\(finished)")
      return finished.errors
    }
    #expect(try refusal("--store", items.store, "--to", items.place.path("b")).contains("both stores are SQLite files"))
    #expect(try refusal("--store", url, "--model", items.model, "--to", url).contains("pg_dump"))
    #expect(try refusal("--store", items.place.path("none"), "--to", url).contains("there is no file"))
    #expect(
      try refusal("--store", url, "--model", items.model, "--to", items.place.path("b")).contains("holds no store"))
    #expect(try refusal("--store", url, "--to", items.place.path("b")).contains("--model"))
    #expect(
      try refusal("--store", items.store, "--to", "postgresql://nobody@127.0.0.1:1/none").contains("nothing was copied")
    )
    #expect(!FileManager.default.fileExists(atPath: items.place.path("b")))
  }
}
