import CSQLite
import CoreData
import Foundation
import ObjectIdentity
import StoreTools

/// The duration of a commit, alone and during one long fetch of another process.
///
/// Writers never wait for readers in WAL mode, but a writer that also checkpoints pays for a reader that pins the log.
/// As in the pool, a separate checkpointer does it here.
enum CommitLatency {
  static var measures: [Measure] {
    [Measure(name: "commit") { try rows($0) }]
  }

  /// The seconds between two commits.
  private static let pause = 0.004
  private static let readerVariable = "BENCHMARK_LONG_FETCH"

  private struct Samples {
    var ours: [Double] = []
    var plain: [Double] = []
  }

  private static func rows(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: options.rows, teams: max(1, options.rows / 180)).copy()
    let writer = try stack.another(
      options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0", "synchronous": "NORMAL"]])
    let plain = PlainSQLite(stack.path)
    plain.execute("PRAGMA wal_autocheckpoint = 0")
    let checkpointer = try WALCheckpointer(url: URL(fileURLWithPath: stack.path))

    let reader = try LongFetch(folder: URL(fileURLWithPath: stack.path).deletingLastPathComponent())
    reader.waitForStart()
    let during = try sample(writer, plain, checkpointer) { reader.isRunning }
    let fetched = reader.seconds
    let alone = try sample(writer, plain, checkpointer, until: fetched)

    func figure(_ name: String, _ samples: Samples, _ part: Double) -> Figure {
      Figure(
        name: name, unit: .seconds, ours: [samples.ours.percentile(part)], plain: [samples.plain.percentile(part)])
    }
    /// The duration of a commit with the fetch, as a multiple of its duration without.
    func slowdown(_ name: String, _ part: Double) -> Figure {
      Figure(
        name: name, unit: .number, ours: [during.ours.percentile(part) / alone.ours.percentile(part)],
        plain: [during.plain.percentile(part) / alone.plain.percentile(part)])
    }
    return [
      Figure("a fetch elsewhere", .seconds, fetched),
      Figure("commits while it lasted", .number, Double(during.ours.count)),
      figure("commit, median", alone, 0.5),
      figure("commit, p99", alone, 0.99),
      figure("commit during a fetch elsewhere, median", during, 0.5),
      figure("commit during a fetch elsewhere, p99", during, 0.99),
      slowdown("commit with the fetch / without, median", 0.5),
      slowdown("commit with the fetch / without, p99", 0.99),
    ]
  }

  // MARK: The writers

  private static func sample(
    _ writer: Stack, _ plain: PlainSQLite, _ checkpointer: WALCheckpointer, until limit: Double
  ) throws -> Samples {
    let start = MachineClock.now
    return try sample(writer, plain, checkpointer) { MachineClock.now - start < limit }
  }

  /// Commits one changed row every few milliseconds while the condition holds, alternating between ours and plain.
  private static func sample(
    _ writer: Stack, _ plain: PlainSQLite, _ checkpointer: WALCheckpointer, while condition: () -> Bool
  ) throws -> Samples {
    let context = writer.context()
    let update = plain.prepare("UPDATE ZTEAM SET ZNAME = ?, Z_OPT = Z_OPT + 1 WHERE Z_PK = 2")
    defer { sqlite3_finalize(update) }
    var samples = Samples()
    var count = 0
    while condition() {
      count += 1
      samples.ours.append(
        try context.performAndWait {
          let request = NSFetchRequest<Team>(entityName: "Team")
          request.predicate = NSPredicate(format: "SELF == %@", try firstTeam(context))
          let team = try context.fetch(request)[0]
          context.refresh(team, mergeChanges: false)
          team.name = "Team, change \(count)"
          return try seconds { try context.save() }
        })
      usleep(UInt32(pause * 1e6))
      samples.plain.append(
        seconds {
          plain.execute("BEGIN IMMEDIATE")
          PlainSQLite.bind("Team, change \(count)", 1, update)
          guard sqlite3_step(update) == SQLITE_DONE else { fatalError("the row could not be updated") }
          sqlite3_reset(update)
          plain.execute("COMMIT")
        })
      usleep(UInt32(pause * 1e6))
      // About once a second between the samples, as the pool's coordinator does.
      if count % 100 == 0 { _ = try checkpointer.checkpoint() }
    }
    return samples
  }

  private static func firstTeam(_ context: NSManagedObjectContext) throws -> NSManagedObjectID {
    let coordinator = context.persistentStoreCoordinator
    let store = coordinator?.persistentStores.first?.identifier ?? ""
    guard let id = coordinator?.objectID(for: ObjectURI(store: store, entity: "Team", key: 1)) else {
      fatalError("there is no team")
    }
    return id
  }

  // MARK: The reader

  /// A second process of this executable that fetches.
  private final class LongFetch {
    private let output: UnsafeMutablePointer<FILE>
    private(set) var seconds = 0.0

    init(folder: URL) throws {
      let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
      guard let output = popen("\(readerVariable)='\(folder.path)' exec '\(executable)'", "r") else {
        fatalError("the reading process could not be started: \(String(cString: strerror(errno)))")
      }
      self.output = output
    }

    /// Waits until the fetch begins.
    func waitForStart() { _ = line() }

    /// False once the fetch has ended and written its duration.
    var isRunning: Bool {
      var descriptor = pollfd(fd: fileno(output), events: Int16(POLLIN), revents: 0)
      guard poll(&descriptor, 1, 0) > 0 else { return true }
      seconds = Double(line()) ?? 0
      pclose(output)
      return false
    }

    private func line() -> String {
      var buffer = [CChar](repeating: 0, count: 128)
      guard fgets(&buffer, Int32(buffer.count), output) != nil else { fatalError("the reading process died") }
      return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }

  /// Runs as the reader if this process was started as one: fetches once for at least ten seconds and writes the
  /// duration.
  static func fetchIfWanted() throws {
    guard let path = ProcessInfo.processInfo.environment[readerVariable] else { return }
    let context = try Stack(at: URL(fileURLWithPath: path)).context()
    try context.performAndWait {
      let request = NSFetchRequest<Person>(entityName: "Person")
      // Reads all members of each person's team: one statement on one snapshot of the file that takes many seconds.
      request.predicate = NSPredicate(format: "SUBQUERY(team.members, $m, $m.score > score).@count >= 0")
      FileHandle.standardOutput.write(Data("started\n".utf8))
      let taken = try seconds { consume(try context.fetch(request).count) }
      FileHandle.standardOutput.write(Data("\(taken)\n".utf8))
    }
    exit(0)
  }
}
