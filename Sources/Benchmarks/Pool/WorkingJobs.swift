import BenchmarkRows
import CSQLite
import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// Jobs that work on the app's objects, with one, two and four workers, beside the same work in C in one process.
///
/// In C each job is a transaction of its own too, in which its row of a table of jobs is marked.
enum WorkingJobs {
  static var measures: [Measure] { [Measure(name: "working-jobs", run: run)] }

  private static func run(_ options: Options) throws -> [Figure] {
    let sizes = [1_000, 1_000_000] + (options.people > 0 ? [options.people] : [])
    return try sizes.flatMap { size in
      let people = try PeopleFile(rows: size)
      return try Work.allCases.flatMap { work in
        try [1, 2, 4].map { try figure(work, on: people, workers: $0, options) }
      }
    }
  }

  private static func figure(_ work: Work, on people: PeopleFile, workers: Int, _ options: Options) throws -> Figure {
    let count = min(options.rows, people.rows, work.mostJobs)
    var figure = Figure(
      name: "jobs that \(work.rawValue), \(people.rows) rows, \(workers) worker\(workers == 1 ? "" : "s")", unit: .rate,
      ours: [], rows: count)
    for _ in 0..<min(options.rounds, 3) {
      let pool = try BenchmarkPool(workers: workers, people: people.url)
      try pool.warmUp()
      _ = try pool.client.request(StatusRequest(.pause))
      let store = pool.store.appIdentifier
      try pool.insert((0..<count).map { work.request($0, on: people, store: store) })
      let start = Date()
      _ = try pool.client.request(StatusRequest(.resume))
      guard try pool.waitForSuccess(of: count, kind: work.kind) == count, let end = try pool.lastEnd(of: work.kind)
      else {
        throw UsageError("jobs were not done once")
      }
      let time = end.timeIntervalSince(start)
      try pool.clear()
      try pool.end()
      figure.ours.append(Double(count) / time)
      figure.plain.append(Double(count) / people.secondsInC(count, work))
    }
    return figure
  }
}

/// The work of one job.
private enum Work: String, CaseIterable {
  case change = "change an object"
  case insert = "insert ten objects"
  case read = "read a thousand objects"

  var kind: String {
    switch self {
    case .change: ChangingPerson.kind
    case .insert: InsertingPeople.kind
    case .read: ReadingTeam.kind
    }
  }

  var mostJobs: Int {
    switch self {
    case .change: 5_000
    case .insert: 2_000
    case .read: 500
    }
  }

  func request(_ number: Int, on people: PeopleFile, store: String) -> JobRequest {
    func uri(_ entity: String, _ key: Int64) -> String { "x-coredata://\(store)/\(entity)/p\(key)" }
    return switch self {
    case .change: JobRequest(kind: kind, objects: [uri("Person", people.person(number))])
    case .insert: JobRequest(kind: kind)
    case .read: JobRequest(kind: kind, objects: [uri("Team", people.team(number))])
    }
  }
}

/// A store of people in teams of a thousand, filled in SQL, on which one pool after the other works.
private final class PeopleFile {
  let rows: Int
  let url: URL
  private let folder: Stack.Folder

  init(rows: Int) throws {
    self.rows = rows
    folder = try Stack.Folder()
    url = folder.url.appendingPathComponent(Stack.fileName)
    let stack = try Stack(at: folder.url)
    for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }
    let sqlite = PlainSQLite(url.path)
    func numbers(_ count: Int) -> String {
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
    }
    sqlite.execute(
      """
      BEGIN; \(numbers(max(1, rows / 1000)))
      INSERT INTO ZTEAM (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 2, 1, 'Team ' || i FROM n; \(numbers(rows))
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZTEAM, ZAGE, ZJOINED, ZSCORE, ZEMAIL, ZNAME)
      SELECT i, 1, 1, (i - 1) / 1000 + 1, i % 90, 600000000.5 + i, i * 0.5, 'p' || i || '@example.org',
      'Person number ' || i FROM n;
      UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT max(Z_PK) FROM ZPERSON) WHERE Z_NAME = 'Person';
      UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT max(Z_PK) FROM ZTEAM) WHERE Z_NAME = 'Team'; COMMIT
      """)
  }

  /// The keys for a job's number: each person once, far apart.
  func person(_ number: Int) -> Int64 { Int64((number &* 7919) % rows + 1) }

  func team(_ number: Int) -> Int64 { Int64((number &* 7919) % max(1, rows / 1000) + 1) }

  /// The seconds for the work of as many jobs in C.
  func secondsInC(_ count: Int, _ work: Work) -> Double {
    let sqlite = PlainSQLite(url.path)
    sqlite.execute("CREATE TABLE plainjob (id INTEGER PRIMARY KEY, state INTEGER, version INTEGER); BEGIN")
    for id in 1...count { sqlite.execute("INSERT INTO plainjob VALUES (\(id), 0, 1)") }
    sqlite.execute("COMMIT")
    defer { sqlite.execute("DROP TABLE plainjob") }
    let mark = Statement(sqlite, "UPDATE plainjob SET state = 3, version = 2 WHERE id = ? AND version = 1")
    let body = body(sqlite, work)
    return seconds {
      for number in 0..<count {
        sqlite.execute("BEGIN IMMEDIATE")
        body(number)
        sqlite3_bind_int64(mark.handle, 1, Int64(number + 1))
        mark.run()
        sqlite.execute("COMMIT")
      }
    }
  }

  private func body(_ sqlite: PlainSQLite, _ work: Work) -> (Int) -> Void {
    switch work {
    case .change:
      let select = Statement(sqlite, "SELECT Z_OPT, ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL FROM ZPERSON WHERE Z_PK = ?")
      let update = Statement(sqlite, "UPDATE ZPERSON SET Z_OPT = ?, ZAGE = ? WHERE Z_PK = ? AND Z_OPT = ?")
      return { [self] number in
        sqlite3_bind_int64(select.handle, 1, person(number))
        guard sqlite3_step(select.handle) == SQLITE_ROW else { fatalError("a person is missing") }
        let version = sqlite3_column_int64(select.handle, 0)
        consume(PlainSQLite.readPerson(select.handle, from: 1))
        sqlite3_bind_int64(update.handle, 1, version + 1)
        sqlite3_bind_int64(update.handle, 2, sqlite3_column_int64(select.handle, 2) + 1)
        sqlite3_bind_int64(update.handle, 3, person(number))
        sqlite3_bind_int64(update.handle, 4, version)
        sqlite3_reset(select.handle)
        update.run()
      }
    case .insert:
      let keys = Statement(sqlite, "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 10 WHERE Z_NAME = 'Person' RETURNING Z_MAX")
      let insert = Statement(sqlite, StoreBenchmarks.insertSQL)
      return { number in
        guard sqlite3_step(keys.handle) == SQLITE_ROW else { fatalError("there is no key") }
        let last = sqlite3_column_int64(keys.handle, 0)
        sqlite3_reset(keys.handle)
        for offset in 0..<10 {
          StoreBenchmarks.bind(PersonValues(number * 10 + offset), key: last - Int64(offset), to: insert.handle)
          insert.run()
        }
      }
    case .read:
      let select = Statement(sqlite, "SELECT ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL FROM ZPERSON WHERE ZTEAM = ?")
      return { [self] number in
        var sum = 0
        sqlite3_bind_int64(select.handle, 1, team(number))
        while sqlite3_step(select.handle) == SQLITE_ROW { sum &+= PlainSQLite.readPerson(select.handle, from: 0) }
        sqlite3_reset(select.handle)
        consume(sum)
      }
    }
  }

  /// A statement that is finalised with its last user.
  private final class Statement {
    let handle: OpaquePointer
    private let sqlite: PlainSQLite

    init(_ sqlite: PlainSQLite, _ sql: String) {
      self.sqlite = sqlite
      handle = sqlite.prepare(sql)
    }

    deinit { sqlite3_finalize(handle) }

    func run() {
      guard sqlite3_step(handle) == SQLITE_DONE else {
        fatalError("a statement failed: \(String(cString: sqlite3_sql(handle)))")
      }
      sqlite3_reset(handle)
    }
  }
}
