import Foundation
import Testing

@Suite(.serialized) struct ImportTests {
  /// Puts a job file into the queue directory as any program can: written elsewhere, then renamed.
  private func drop(_ text: String, _ place: TestPlace, _ pool: RunningPool, name: String) throws {
    let file = try place.write(text, to: name)
    try FileManager.default.moveItem(atPath: file, toPath: pool.queue + "/incoming/" + name)
  }

  /// Everything in the app's tables, row by row, with the rows' versions.
  private func contents(_ store: String) throws -> String {
    try sqlite(
      store,
      """
      SELECT * FROM ZCOUNTRY ORDER BY Z_PK; SELECT * FROM ZSUBDIVISION ORDER BY Z_PK;
      SELECT * FROM ZLANGUAGE ORDER BY Z_PK
      """)
  }

  @Test(.enabled(if: ISOCodes.areThere, "the package iso-codes is not installed"), .timeLimit(.minutes(20)))
  func isoCodesAreImportedByTwoWorkersAndASecondTimeNothingChanges() throws {
    let place = try TestPlace()
    let model = try ISOCodesModel.write(into: place)
    let store = place.path("iso.sqlite")
    let pool = try RunningPool(place, store: store, model: model, plugins: try place.plugins("worker-import"))
    try drop(ISOCodesModel.jobs, place, pool, name: "first.json")
    try pool.waitForJobs(3)

    let rows = { (query: String) in try sqlite(store, query) }
    #expect(try rows("SELECT count(*) FROM ZCOUNTRY") == "249")
    #expect(try rows("SELECT count(*) FROM ZSUBDIVISION") == String(try ISOTable("3166-2").count))
    #expect(try rows("SELECT count(*) FROM ZLANGUAGE") == String(try ISOTable("639-3").count))
    #expect(
      try rows("SELECT ZALPHA_3, ZNUMERIC, ZNAME, ZOFFICIAL_NAME FROM ZCOUNTRY WHERE ZALPHA_2 = 'AF'")
        == "AFG|004|Afghanistan|Islamic Republic of Afghanistan")
    #expect(
      try rows(
        """
        SELECT s.ZNAME, c.ZALPHA_3, p.ZCODE FROM ZSUBDIVISION s JOIN ZCOUNTRY c ON c.Z_PK = s.ZCOUNTRY
        JOIN ZSUBDIVISION p ON p.Z_PK = s.ZPARENT WHERE s.ZCODE = 'AZ-BAB'
        """) == "Babək|AZE|AZ-NX")
    #expect(try rows("SELECT count(*) FROM ZSUBDIVISION WHERE ZCOUNTRY IS NULL") == "0")
    #expect(
      try rows("SELECT count(*) FROM ZSUBDIVISION WHERE ZPARENT IS NOT NULL")
        == String(try ISOTable("3166-2").count(having: "parent")))
    #expect(
      try rows("SELECT ZNAME, ZINVERTED_NAME FROM ZLANGUAGE WHERE ZALPHA_3 = 'aae'")
        == "Arbëreshë Albanian|Albanian, Arbëreshë")

    let before = try contents(store)
    try drop(ISOCodesModel.jobs, place, pool, name: "second.json")
    try pool.waitForJobs(6)
    #expect(try contents(store) == before)
    try pool.stop()
    #expect(try sqlite(store, "PRAGMA integrity_check") == "ok")
  }

  /// A worker is killed in the middle of a file:
  ///
  ///     test                        worker
  ///                                 saves a chunk and its checkpoint, and so on
  ///     sees progress, stops it     (stopped)
  ///     sees rows, kill -9          (killed)
  ///                                 another worker goes on from the last checkpoint
  @Test(.timeLimit(.minutes(20)))
  func anImportGoesOnFromItsLastChunkWhenItsWorkerIsKilled() throws {
    let place = try TestPlace()
    let model = try ISOCodesModel.write(into: place)
    let store = place.path("iso.sqlite")
    let count = 40_000
    let lines = (1...count).map { #"{"alpha_2":"c\#($0)","name":"Country \#($0)"}"# }
    let file = try place.write(lines.joined(separator: "\n"), to: "countries.jsonl")
    let pool = try RunningPool(place, store: store, model: model, plugins: try place.plugins("worker-import"))
    try pool.submit(
      "import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2", "--set", "chunk=100",
      "--backoff", "0.1")
    // Progress is told before its chunk is saved: rows are looked for while the worker is stopped, so that it cannot
    // get any further.
    var rowsWhenKilled: Int?
    try pool.wait { status in
      if rowsWhenKilled == nil, let worker = status.workers.first(where: { ($0.progressDone ?? 0) > 0 }),
        let pid = worker.pid
      {
        kill(pid, SIGSTOP)
        let rows = try #require(Int(try sqlite(store, "SELECT count(*) FROM ZCOUNTRY")))
        if rows > 0 { rowsWhenKilled = rows }
        kill(pid, rows > 0 ? SIGKILL : SIGCONT)
      }
      return (status.jobs?["succeeded"] ?? 0) == 1
    }
    let rows = try #require(rowsWhenKilled)
    #expect(rows < count)
    #expect(
      try sqlite(store, "SELECT count(*), count(DISTINCT ZALPHA_2), max(Z_OPT) FROM ZCOUNTRY") == "\(count)|\(count)|1")
    let job = try sqlite(store, "SELECT ZCRASHES, ZATTEMPT, ZERRORS FROM WPPOOLJOB")
    #expect(job.hasPrefix("1|1|"), "crashes, attempts, errors: \(job)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func anImportThatCannotWorkSaysWhereAndWhy() throws {
    let place = try TestPlace()
    let model = try ISOCodesModel.write(into: place)
    let store = place.path("iso.sqlite")
    let file = try place.write("alpha_2,name\nDE,Germany\nFR\n", to: "countries.csv")
    let pool = try RunningPool(place, store: store, model: model, plugins: try place.plugins("worker-import"))
    try pool.submit(
      "import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2", "--max-attempts", "1")
    try pool.submit("import", "--set", "file=\(file)", "--set", "entity=Contry", "--set", "key=alpha_2")
    let broken = try place.write(#"[{"alpha_2": }]"#, to: "broken.json")
    try pool.submit(
      "import", "--set", "file=\(broken)", "--set", "entity=Country", "--set", "key=alpha_2", "--max-attempts", "1")
    try pool.submit("import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "kye=alpha_2")
    try pool.wait { ($0.jobs?["dead"] ?? 0) == 4 }
    let dead = try pool.command("jobs", "--state", "dead", "--json").output
    #expect(dead.contains("\(broken): line 1, column "), "\(dead)")
    #expect(dead.contains(#"have no \"kye\"; did you mean \"key\"?"#), "\(dead)")
    #expect(dead.contains("\(file): row 2: line 3: has 1 fields, but the header names 2"), "\(dead)")
    #expect(dead.contains("the model has no entity Contry; did you mean Country?"), "\(dead)")
    #expect(try sqlite(store, "SELECT count(*) FROM ZCOUNTRY") == "0")
    try pool.stop()
  }
}
