import Foundation
import Testing

/// The pool's user may not write the store for a while. Root may write every file, so these tests run the pool as
/// another user.
@Suite(
  .serialized, .enabled(if: OtherUser.isThere, "only root, with setpriv, can run a program as another user"))
struct ReadOnlyStoreTests {
  /// SQLite opens such a file for reading alone, and lets a writing transaction begin on it all the same.
  @Test(.timeLimit(.minutes(20)))
  func aWorkerThatOpensAStoreWhichItMayNotWriteBeginsNothingAndGoesOnLater() throws {
    // Given a pool of an ordinary user, with a plugin whose jobs have effects outside the store
    let items = try ItemPool()
    let executable = try OtherUser.copy("workerpool", to: "workerpool", in: items.place)
    unlink(items.plugins + "/worker-test")
    _ = try OtherUser.copy("test-worker", to: "plugins/worker-test", in: items.place)
    try run("/usr/bin/env", ["chown", "-R", "\(OtherUser.id)", items.place.url.path])
    let pool = try StartingPool(
      items, through: OtherUser.command + ["/bin/sh", "-c", #"shift; exec "$0" "$@""#, executable],
      options: ["--env", "TEST_WORKER_COUNTS"], environment: ["TEST_WORKER_COUNTS": "1"])
    let up = try #require(pool.line(with: " is up"))
    let worker = try #require(up.firstMatch(of: /\[(\d+)\] is up/).flatMap { Int32($0.1) })
    // When its worker is replaced while the store may not be written
    let files = ["", "-wal", "-shm"].map { items.store + $0 }
    for file in files { try #require(chmod(file, 0o444) == 0) }
    kill(worker, SIGKILL)
    try #require(pool.line(with: " is up") != nil)
    let lines = items.place.path("lines")
    try items.drop([#"{"kind": "counted", "parameters": {"number": 1, "file": "\#(lines)"}}"#], as: "job.json")
    // Then no job begins, and the reason is told
    let line = try #require(pool.line(with: "no job begins: "))
    #expect(line.contains("readonly"), "\(line)")
    #expect(!FileManager.default.fileExists(atPath: lines))
    // And the same worker goes on when it may
    for file in files { try #require(chmod(file, 0o644) == 0) }
    try #require(pool.line(with: "the store can be written again") != nil)
    let finished = try workerpool(
      "submit", "counted", "--queue", items.queue, "--set", "number=2", "--set", "file=\(lines)", "--wait")
    #expect(finished.code == 0, "\(finished)")
    #expect(try String(contentsOfFile: lines, encoding: .utf8) == "1\n2\n")
    #expect(try items.rows() == "3|1|0")
    #expect(pool.end(SIGTERM).code == 0)
  }
}
