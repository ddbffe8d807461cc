import Foundation
import Jobs
import Testing

@testable import WorkerPool

/// Another process has the store locked when the pool starts: the pool says so, obeys meanwhile, and does not wait for
/// ever.
@Suite(.serialized) struct LockedStoreTests {
  /// Has the store for itself.
  private func holder(_ items: ItemPool) throws -> StoreShell {
    try StoreShell(store: items.store, "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (a); DROP TABLE t;")
  }

  @Test(.timeLimit(.minutes(20)), arguments: [SIGTERM, SIGINT, SIGQUIT])
  func thePoolSaysWhoHasItAndObeysSignals(signal: Int32) throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let pool = try StartingPool(items)
    try waitUntil("the pool has its queue directory") {
      FileManager.default.fileExists(atPath: items.queue + "/run/pid")
    }
    // It does not listen yet: it is asked again, and not said to be none.
    let first = try workerpool("status", "--queue", items.queue)
    #expect(first.code == 0 && first.output.contains(", opening; version "), "\(first)")
    let line = try #require(pool.line(with: "is not open after 1 s"))
    #expect(line.contains("process \(holder.pid) (sqlite3) has it locked"), "\(line)")
    let status = try workerpool("status", "--queue", items.queue)
    #expect(status.output.contains(", opening; version "), "\(status.output)\(status.errors)")
    #expect(status.output.contains("process \(holder.pid) (sqlite3) has it locked"))
    #expect(status.output.contains("let the process that has it locked end"))
    let pause = try workerpool("pause", "--queue", items.queue)
    #expect(pause.code == 1 && pause.errors.contains("the store is not open yet"))
    let ending = pool.end(signal)
    #expect(ending.code == 0 && ending.lines.last?.hasSuffix("stopped") == true, "\(ending)")
    try holder.letGo()
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run").allSatisfy(ItemPool.mayStay))
  }

  @Test(.timeLimit(.minutes(20)), arguments: [("2", "within 2 s"), ("0", "at once")])
  func itEndsWithACodeOfItsOwnWhenTheLockStays(wait: String, text: String) throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let ending = try StartingPool(items, options: ["--store-wait", wait]).end()
    #expect(ending.code == 5)
    #expect(
      ending.lines.last
        == "workerpool run: the store \(items.store) could not be opened \(text): process \(holder.pid) "
        + "(sqlite3) has it locked", "\(ending.lines)")
    try holder.letGo()
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolThatDoesNotWaitStartsOnAStoreThatNobodyHasLocked() throws {
    let items = try ItemPool()
    let pool = try StartingPool(items, options: ["--store-wait", "0"])
    try #require(pool.line(with: "running on") != nil)
    #expect(pool.end(SIGTERM).code == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/run").allSatisfy(ItemPool.mayStay))
  }

  @Test(.timeLimit(.minutes(20)))
  func itGoesOnWhenTheLockIsGone() throws {
    let items = try ItemPool()
    let holder = try holder(items)
    let pool = try StartingPool(items)
    try #require(pool.line(with: "has it locked") != nil)
    // The socket comes right after that line.
    var connected: StatusClient?
    while connected == nil { connected = try? StatusClient(queue: items.queue) }
    let early = try #require(connected)
    #expect(try early.request(StatusRequest(.status)).status?.phase == "opening")
    try holder.letGo()
    try #require(pool.line(with: "running on") != nil)
    // Who asked meanwhile has lost the connection, and is connected again.
    #expect(try early.request(StatusRequest(.status)).status?.phase == "running")
    let client = try StatusClient(queue: items.queue)
    #expect(try client.request(StatusRequest(.status)).status?.phase == "running")
    #expect(pool.end(SIGTERM).code == 0)
  }

  /// A store that is locked while the pool runs: jobs wait, a status says for whom, and nothing is lost.
  @Test(.timeLimit(.minutes(20)))
  func aRunningPoolNamesWhoItWaitsFor() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let holder = try StoreShell(store: items.store, "BEGIN IMMEDIATE;")
    try items.submit("add")
    try pool.wait { $0.lockHolders?.map(\.pid) == [holder.pid] }
    let text = try pool.command("status").output
    #expect(text.contains("process \(holder.pid) (sqlite3) has it locked"), "\(text)")
    #expect(text.contains("process \(holder.pid) (sqlite3) has the store locked, and jobs wait for that"), "\(text)")
    #expect(try pool.command("status", "--prometheus").output.contains("workerpool_store_locked 1\n"))
    try holder.letGo()
    try pool.waitForJobs(1)
    #expect(try pool.status().lockHolders == [])
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// Who waits says so, in the pool and in a worker, before SQLite gives up.
  @Test(.timeLimit(.minutes(20)))
  func whoWaitsForALockSaysSo() throws {
    let items = try ItemPool()
    let pool = try StartingPool(items)
    try #require(pool.line(with: " is up") != nil)
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    _ = try stop.waitForArrival()
    let holder = try StoreShell(store: items.store, "BEGIN IMMEDIATE;")
    stop.release()
    try items.drop([#"{"kind": "nothing"}"#], as: "more.json")
    var missing = ["process \(holder.pid) (sqlite3) has it locked", "it waits for a lock, or much is saved"]
    while !missing.isEmpty {
      let line = try #require(pool.line(with: "the store has not answered for 3 s"))
      missing.removeAll { line.contains($0) }
    }
    try holder.letGo()
    #expect(pool.end(SIGTERM).code == 0)
    let job = try sqlite(items.store, "SELECT ZSTATE, ZATTEMPT, ZCRASHES FROM WPPOOLJOB WHERE ZKIND = 'misbehave'")
    #expect(job == "3|1|0", "the job in hand is finished before the pool ends")
  }

  /// The turn at writing is a lock, too, which SQLite knows nothing of.
  @Test(.timeLimit(.minutes(20)))
  func aWriteTurnThatSomebodyKeepsIsWaitedForInTheSameWay() throws {
    let items = try ItemPool()
    try FileManager.default.createDirectory(atPath: items.queue + "/run", withIntermediateDirectories: true)
    let turn = open(items.queue + "/run/write-turn", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(turn) }
    var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    // F_OFD_SETLK of fcntl(2).
    try #require(fcntl(turn, 37, &lock) == 0)
    let pool = try StartingPool(items, options: ["--store-wait", "3"])
    try #require(pool.line(with: "is not open after 1 s") != nil)
    let ending = pool.end()
    #expect(ending.code == 5 && ending.lines.last?.contains("could not be opened within 3 s") == true)
  }

  /// An inode has its number on one file system only.
  @Test(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "needs root, to mount two file systems"))
  func aLockOnAFileOfTheSameNumberElsewhereIsNotTakenForOneOnTheStore() throws {
    // Given a store, and a file with the same inode number on another file system
    let places = try [TestPlace(), TestPlace()]
    let disks = try places.map { try SmallDisk($0) }
    // They are unmounted with their last use.
    defer { withExtendedLifetime(disks) {} }
    let numbers = try disks.map { disk in
      try Dictionary(
        uniqueKeysWithValues: (0..<200).map { number in
          let path = "\(disk.path)/\(number)"
          try Data().write(to: URL(fileURLWithPath: path))
          return (try #require(FileID(path: path)).inode, path)
        })
    }
    let inode = try #require(numbers[0].keys.first { numbers[1][$0] != nil }, "the numbers have nothing in common")
    let (store, other) = (try #require(numbers[0][inode]), try #require(numbers[1][inode]))
    // When a process locks the other file
    let holder = try StoreShell(store: other, "CREATE TABLE t (a); BEGIN EXCLUSIVE;")
    // Then it has that one locked, and not the store
    #expect(StoreLocks.named(store: other) == "process \(holder.pid) (sqlite3) has it locked")
    #expect(StoreLocks.named(store: store) == nil)
    try holder.letGo()
  }
}
