import CSQLite
import Foundation
import Jobs
import WorkerPool

/// How fast a paused pool takes job files, and how long the store's log gets meanwhile.
enum IntakeBenchmark {
  static var measures: [Measure] {
    [Measure(name: "files") { try files($0) }, Measure(name: "bulk") { try bulk($0) }]
  }

  private static let line = #"{"kind": "no-operation", "parameters": {"path": "/data/in/file-000001.csv", "row": 17}}"#

  // MARK: Many small files

  /// Each file is written and renamed by itself, as a producer with one job at a time does it.
  private static func files(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, 20_000)
    var rate = Figure(name: "job files one by one, all taken and on disk", unit: .rate, ours: [], rows: count)
    var log = Figure(name: "job files one by one: longest log (WAL)", unit: .mebibytes, ours: [])
    var cost = Figure(name: "job files one by one: processor time of the pool, a file", unit: .nanoseconds, ours: [])
    for _ in 0..<options.rounds {
      let pool = try PoolProcess(workers: 1)
      defer { pool.end() }
      _ = try pool.client.request(StatusRequest(.pause))
      let before = ProcessSample(pool.pid)
      var longest = 0
      let start = MachineClock.now
      for number in 0..<count {
        write(line, to: pool.path("job.tmp"))
        rename(pool.path("job.tmp"), pool.path("incoming/\(number).json"))
        if number % 8 == 0 { longest = max(longest, pool.logBytes) }
      }
      while try !pool.hasTakenAll() {
        longest = max(longest, pool.logBytes)
        usleep(1000)
      }
      rate.ours.append(Double(count) / (MachineClock.now - start))
      rate.plain.append(Double(count) / plainFiles(count, beside: pool))
      log.ours.append(Double(longest) / 1_048_576)
      cost.ours.append((ProcessSample(pool.pid).processorSeconds - before.processorSeconds) / Double(count) * 1e9)
    }
    return [rate, log, cost]
  }

  /// The seconds that a C program takes for the same steps: it writes and renames each file, and for each hundred it
  /// inserts their rows in one transaction, syncs the log, and removes them.
  private static func plainFiles(_ count: Int, beside pool: PoolProcess) -> Double {
    let folder = pool.path("plain")
    mkdir(folder, 0o700)
    let sqlite = PlainSQLite(pool.store)
    sqlite.execute("CREATE TABLE plainjob (id INTEGER PRIMARY KEY, state INTEGER, kind VARCHAR, text VARCHAR)")
    sqlite.execute("CREATE INDEX plainready ON plainjob (state, kind)")
    let insert = sqlite.prepare("INSERT INTO plainjob (state, kind, text) VALUES (0, 'no-operation', ?)")
    defer { sqlite3_finalize(insert) }
    let log = open(pool.store + "-wal", O_RDWR | O_CLOEXEC)
    defer { close(log) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    return seconds {
      for start in stride(from: 0, to: count, by: 100) {
        let names = (start..<min(start + 100, count)).map { folder + "/\($0).json" }
        for name in names {
          write(line, to: pool.path("plain.tmp"))
          rename(pool.path("plain.tmp"), name)
        }
        sqlite.execute("BEGIN IMMEDIATE")
        for name in names {
          let file = open(name, O_RDONLY | O_CLOEXEC)
          let length = read(file, &buffer, buffer.count)
          close(file)
          PlainSQLite.bind(String(decoding: buffer[..<max(0, length)], as: UTF8.self), 1, insert)
          guard sqlite3_step(insert) == SQLITE_DONE else { fatalError("the row could not be inserted") }
          sqlite3_reset(insert)
        }
        sqlite.execute("COMMIT")
        fdatasync(log)
        for name in names { unlink(name) }
      }
    }
  }

  private static func write(_ text: String, to path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    var text = text
    _ = text.withUTF8 { Glibc.write(file, $0.baseAddress, $0.count) }
    close(file)
  }

  // MARK: One large file

  private static func bulk(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, 50_000)
    let name = "one file of \(count) jobs, all taken and on disk"
    var rate = Figure(name: name, unit: .rate, ours: [], rows: count)
    var cost = Figure(
      name: "one file of \(count) jobs: processor time of the pool, a job", unit: .nanoseconds, ours: [])
    let text = String(repeating: line + "\n", count: count)
    for _ in 0..<options.rounds {
      let pool = try PoolProcess(workers: 1)
      defer { pool.end() }
      _ = try pool.client.request(StatusRequest(.pause))
      // The first jobs of a kind cost the pool more.
      write(line, to: pool.path("job.tmp"))
      rename(pool.path("job.tmp"), pool.path("incoming/first.json"))
      while try !pool.hasTakenAll() { usleep(1000) }
      write(text, to: pool.path("job.tmp"))
      let before = ProcessSample(pool.pid)
      let start = MachineClock.now
      rename(pool.path("job.tmp"), pool.path("incoming/bulk.json"))
      while try !pool.hasTakenAll() { usleep(200) }
      rate.ours.append(Double(count) / (MachineClock.now - start))
      cost.ours.append((ProcessSample(pool.pid).processorSeconds - before.processorSeconds) / Double(count) * 1e9)
      rate.plain.append(Double(count) / plainRows(count, in: pool.store))
    }
    return [rate, cost]
  }

  /// The seconds that a C program takes for as many rows in one transaction, one statement for each.
  private static func plainRows(_ count: Int, in path: String) -> Double {
    let sqlite = PlainSQLite(path)
    sqlite.execute("CREATE TABLE plainjob (id INTEGER PRIMARY KEY, state INTEGER, kind VARCHAR, text VARCHAR)")
    sqlite.execute("CREATE INDEX plainready ON plainjob (state, kind)")
    let insert = sqlite.prepare("INSERT INTO plainjob (state, kind, text) VALUES (0, 'no-operation', ?)")
    defer { sqlite3_finalize(insert) }
    let log = open(path + "-wal", O_RDWR | O_CLOEXEC)
    defer { close(log) }
    return seconds {
      sqlite.execute("BEGIN IMMEDIATE")
      for _ in 0..<count {
        PlainSQLite.bind(line, 1, insert)
        guard sqlite3_step(insert) == SQLITE_DONE else { fatalError("the row could not be inserted") }
        sqlite3_reset(insert)
      }
      sqlite.execute("COMMIT")
      fdatasync(log)
    }
  }
}
