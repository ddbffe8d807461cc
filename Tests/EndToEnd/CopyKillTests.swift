import Foundation
import Glibc
import TestFiles
import Testing

/// `workerpool copy` is killed, its server dies, its disk is full. The copy is whole then, or there is none; the
/// original is as it was.
///
/// `WORKERPOOL_COPY_KILLS=100` kills it at that many moments.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(60)))
struct CopyKillTests {
  private static let count = 3000
  private static let kills = ProcessInfo.processInfo.environment["WORKERPOOL_COPY_KILLS"].flatMap(Int.init) ?? 8

  /// A store of items in a file, and the same at a server.
  private struct Stores {
    let items: ItemPool
    let schema = "copied_\(UInt32.random(in: 0 ... .max))"

    init() throws { items = try ItemPool(items: CopyKillTests.count) }

    func url(_ number: Int) -> String { PostgreSQLServer.shared.url(schema: "\(schema)_\(number)").absoluteString }

    func drop(_ number: Int) throws {
      try PostgreSQLServer.shared.psql("DROP SCHEMA IF EXISTS \(schema)_\(number) CASCADE")
    }

    func copy(_ source: String, _ destination: String) throws -> Finished {
      try run(Built.path("workerpool"), ["copy", "--store", source, "--model", items.model, "--to", destination])
    }

    /// Begins to copy, and kills the command after a time.
    func kill(_ source: String, _ destination: String, after milliseconds: Int32) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
      process.arguments = ["copy", "--store", source, "--model", items.model, "--to", destination]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      poll(nil, 0, milliseconds)
      process.send(SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test(arguments: [true, false]) func aCopyThatIsKilledIsWholeOrNotThere(toServer: Bool) throws {
    let stores = try Stores()
    defer { for number in 0...Self.kills { try? stores.drop(number) } }
    let start = Date()
    #expect(try stores.copy(stores.items.store, stores.url(0)).code == 0)
    let duration = -start.timeIntervalSinceNow * 1000
    let source = toServer ? stores.items.store : stores.url(0)
    var whole = 0
    for number in 1...Self.kills {
      let destination = toServer ? stores.url(number) : stores.items.place.path("copy-\(number).sqlite")
      // More kills while it writes, which is the shorter part.
      let part = Double(number) / Double(Self.kills)
      try stores.kill(source, destination, after: Int32(duration * part * part))
      // A file gets its name when it is complete.
      let isThere = FileManager.default.fileExists(atPath: destination)
      var again = try stores.copy(source, destination)
      // The server ends a session, and what it has locked, only when it notices that the program is gone.
      while again.errors.contains("another copy to") { again = try stores.copy(source, destination) }
      if again.code != 0 {
        // It was killed while it compared.
        whole += 1
        #expect(again.errors.contains("already") && (toServer || isThere), "\(again)")
      }
      let copiedRows =
        try toServer
        ? PostgreSQLServer.shared.psql(#"SELECT count(*) FROM \#(stores.schema)_\#(number)."Item""#)
        : sqlite(destination, "SELECT count(*) FROM ZITEM")
      #expect(copiedRows == "\(Self.count)")
    }
    let remainingFiles = try FileManager.default.contentsOfDirectory(atPath: stores.items.place.url.path)
    #expect(remainingFiles.filter { $0.contains(".copy.") } == [])
    print("copies killed at \(Self.kills) moments: \(whole) were whole, of the others there was nothing")
    #expect(try sqlite(stores.items.store, "PRAGMA integrity_check") == "ok")
  }

  @Test func aServerThatDiesLeavesNothingBehind() throws {
    let server = PostgreSQLServer(["fsync=off"])
    defer { server.stop() }
    let stores = try Stores()
    let url = server.url(schema: "copied").absoluteString
    #expect(try stores.copy(stores.items.store, url).code == 0)
    let file = stores.items.place.path("copy.sqlite")
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = poll(nil, 0, 150)
      server.kill9()
      isOver.signal()
    }
    let copied = try stores.copy(url, file)
    isOver.wait()
    if copied.code != 0 {
      #expect(!copied.errors.contains("Error Domain="), "\(copied)")
      #expect(!FileManager.default.fileExists(atPath: file), "\(copied)")
    }
  }

  /// A small file system of its own, which only the command sees.
  @Test(.enabled(if: geteuid() == 0)) func aFullDiskLeavesNothingBehind() throws {
    let stores = try Stores()
    defer { try? stores.drop(0) }
    #expect(try stores.copy(stores.items.store, stores.url(0)).code == 0)
    try PostgreSQLServer.shared.psql(
      #"INSERT INTO \#(stores.schema)_0."Item" (value) SELECT generate_series(1, 30000)"#)
    let place = stores.items.place.path("small")
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let script = """
      mount -t tmpfs -o size=160k none "$1" || exit 99
      "$2" copy --store "$3" --model "$4" --to "$1/copy.sqlite"; code=$?
      ls "$1"; exit $code
      """
    let copied = try run(
      "/usr/bin/unshare",
      ["-m", "sh", "-c", script, "sh", place, Built.path("workerpool"), stores.url(0), stores.items.model])
    if copied.code == 99 { return }
    #expect(copied.code != 0 && copied.output.isEmpty && copied.errors.contains("nothing was copied"), "\(copied)")
    #expect(copied.errors.contains("full"), "\(copied)")
  }
}
