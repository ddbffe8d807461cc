import Foundation
import Jobs
import Testing
import WorkerPool

/// Stores that other programs wrote, on their way through the pool: a former version of this package, and as a second
/// opinion an iPhone simulator.
@Suite(.serialized) struct JournalStoreTests {
  struct Journal: Sendable, CustomTestStringConvertible {
    let store: String
    let model: String
    let entity: String
    let count: Int
    /// The exported attributes, and how SQLite writes their values into JSON.
    let columns: [String: String]

    var table: String { "Z" + entity.uppercased() }
    var testDescription: String { store }

    func copy(_ place: TestPlace) throws -> (store: String, model: String) {
      try Fixtures.copy(store, model: model, into: place)
    }
  }

  /// SQLite writes 15 digits of a number by itself; 17 tell each from every other.
  private static func number(_ column: String) -> String { "json(printf('%!.17g', \(column)))" }

  private static let journals = Fixtures.arguments(
    own: [
      Journal(
        store: "Journal", model: "Journal.xcdatamodeld", entity: "Entry", count: 400,
        columns: [
          "date": number("ZDATE"), "depth": number("ZDEPTH"), "place": "ZPLACE", "rating": "ZRATING", "swell": "ZSWELL",
        ])
    ],
    apple: [
      Journal(
        store: "Kodeco-SurfJournal", model: "SurfJournalModel.xcdatamodeld", entity: "JournalEntry", count: 5000,
        columns: [
          "date": number("ZDATE"), "height": "ZHEIGHT", "location": "ZLOCATION", "period": "ZPERIOD",
          "rating": "ZRATING", "wind": "ZWIND",
        ])
    ])

  /// All that the app's store says of itself: its tables, its metadata, its entity numbers.
  private func identity(_ store: String) throws -> String {
    try sqlite(
      store,
      """
      SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name LIKE 'Z%' ORDER BY name;
      SELECT Z_VERSION, Z_UUID, hex(Z_PLIST) FROM Z_METADATA; SELECT * FROM Z_PRIMARYKEY;
      """)
  }

  @Test(.timeLimit(.minutes(20)), arguments: journals)
  func everyExportedValueIsWhatSQLiteShows(journal: Journal) throws {
    let place = try TestPlace()
    let (store, model) = try journal.copy(place)
    let before = try identity(store)
    let file = place.path("journal.jsonl")
    let pool = try RunningPool(place, store: store, model: model, plugins: try place.plugins("worker-export"))
    try pool.submit(
      "export", "--set", "entity=\(journal.entity)", "--set", "file=\(file)", "--set", "sort=date", "--set",
      "dates=seconds")
    try pool.waitForJobs(1)
    try pool.stop()

    let uuid = try sqlite(store, "SELECT Z_UUID FROM Z_METADATA")
    let columns = journal.columns.map { "'\($0.key)', \($0.value)" }.joined(separator: ", ")
    let expected = try sqlite(
      store,
      """
      SELECT json_object('objectID', 'x-coredata://\(uuid)/\(journal.entity)/p' || Z_PK, \(columns)) \
      FROM \(journal.table)
      """)
    let storedRows = try rows(expected)
    let exported = try rows(String(contentsOfFile: file, encoding: .utf8))
    #expect(storedRows.count == journal.count)
    let wrong = storedRows.filter { exported[$0.key] != $0.value }
    #expect(exported.count == storedRows.count)
    #expect(wrong.isEmpty, "\(wrong.first.map { ($0.value, exported[$0.key] ?? "") } ?? ("", ""))")
    #expect(try identity(store) == before)
  }

  /// The rows of JSON Lines by object ID, numbers by their value.
  ///
  /// Not with `JSONSerialization`, which is off by one bit in some numbers of 17 digits.
  private func rows(_ text: String) throws -> [String: String] {
    var rows: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let members = try #require(try JSONParser.parse(String(line)).objectValue)
      let texts = members.map { member in
        "\(member.name)=\(member.value.doubleValue.map { "\($0.bitPattern)" } ?? member.value.text)"
      }
      let id = try #require(members.first { $0.name == "objectID" }?.value.stringValue)
      rows[id] = texts.sorted().joined(separator: ";")
    }
    return rows
  }

  /// One job for each object adds one to its rating. Workers are killed all the time, and once the whole pool:
  ///
  ///     test                      pool
  ///     submits its jobs          hands them to two workers
  ///     kill -9 a worker          counts the crash, starts another, goes on
  ///     kill -9 the supervisor    its workers finish the job in hand and exit
  ///     starts a new pool         goes on where the store says that it is
  ///
  /// However it goes, each object is changed exactly once.
  @Test(.timeLimit(.minutes(20)), arguments: journals)
  func eachObjectIsChangedExactlyOnceWhateverIsKilled(journal: Journal) throws {
    let place = try TestPlace()
    let (store, model) = try journal.copy(place)
    let before = try identity(store)
    let ratings = try sqlite(store, "SELECT Z_PK, ZRATING + 1 FROM \(journal.table) ORDER BY Z_PK")
    let plugins = try place.plugins()
    try FileManager.default.createSymbolicLink(
      atPath: plugins + "/worker-increment", withDestinationPath: Built.path("increment-worker"))
    let record = place.path("conversation.txt")

    // So many a second that each pool shows some jobs done before it has done all.
    let options = ["--rate", "increment=\(journal.count / 10)/1"]
    let first = try RunningPool(
      place, store: store, model: model, plugins: plugins, record: record, options: options)
    try first.submit(
      "increment", "--entity", journal.entity, "--set", "attribute=rating", "--set", "secret=Malibu",
      "--max-attempts", "100")
    try killWorkers(of: first, record: record, untilDone: journal.count / 2)
    try first.kill9()

    let second = try RunningPool(
      place, store: store, model: model, plugins: plugins, record: record, options: options)
    try killWorkers(of: second, record: record, untilDone: journal.count)
    try second.stop()

    #expect(try sqlite(store, "SELECT Z_PK, ZRATING FROM \(journal.table) ORDER BY Z_PK") == ratings)
    #expect(try sqlite(store, "SELECT DISTINCT Z_OPT FROM \(journal.table)") == "2")
    #expect(try sqlite(store, "SELECT ZSTATE, count(*) FROM WPPOOLJOB GROUP BY 1") == "3|\(journal.count)")
    #expect(try sqlite(store, "PRAGMA integrity_check") == "ok")
    #expect(try identity(store) == before)
    try checkConversation(record, journal)
  }

  /// Kills a random worker each time that the pool shows some more jobs done, and brings back jobs that were given up
  /// because they had the bad luck to be in hand several times.
  private func killWorkers(of pool: RunningPool, record: String, untilDone count: Int) throws {
    var kills = 0
    try pool.wait { status in
      let done = status.jobs?["succeeded"] ?? 0
      if done >= count { return true }
      if (status.jobs?["dead"] ?? 0) > 0 {
        let dead = try pool.command("jobs", "--state", "dead", "--limit", "0").lines.dropFirst()
        let jobs = dead.compactMap { $0.split(separator: " ").first.map(String.init) }
        try run(Built.path("workerpool"), ["retry", "--queue", pool.queue] + jobs)
      }
      if let worker = status.workers.filter({ $0.phase == "up" }).randomElement(), let pid = worker.pid, kills < 200 {
        kill(pid, SIGKILL)
        kills += 1
      }
      return false
    }
    #expect(kills > 0)
  }

  /// Verbs, URIs and counters, and once for each worker its version and kinds; nothing else.
  private func checkConversation(_ record: String, _ journal: Journal) throws {
    let text = try String(contentsOfFile: record, encoding: .utf8)
    #expect(!text.contains("Malibu") && !text.contains("rating") && !text.contains("secret"))
    let uri = "x-coredata://[0-9A-F-]{36}/(PoolJob|\(journal.entity))/p[0-9]+"
    let message = try Regex(
      """
      [<>] (HELLO [0-9]+ increment|WELCOME [0-9]+|REFUSED (version|message) [0-9]+ [0-9]+\
      |CREDIT [0-9]+|(RUN|BEGIN|DONE|RETURNED)( \(uri))+\
      |FAILED \(uri)|CANCEL \(uri)|RECALL [0-9]+|PROGRESS \(uri) [0-9]+ [0-9]+\
      |SAVED (inserted|updated|deleted)( \(uri))+|NUDGE|DRAIN)
      """)
    let lines = text.split(separator: "\n")
    // Each job is handed out, and done.
    #expect(text.components(separatedBy: "/PoolJob/p").count > 2 * journal.count)
    let strangers = lines.filter { $0.wholeMatch(of: message) == nil }
    #expect(strangers.isEmpty, "\(strangers.prefix(3))")
  }
}
