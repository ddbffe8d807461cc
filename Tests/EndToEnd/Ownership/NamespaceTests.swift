import CSystem
import Foundation
import Testing
import WorkerPool

/// Pools in mount namespaces of their own, as those of containers are: one path may lead to two places there, and two
/// paths to one.
@Suite(.serialized, .enabled(if: Namespace.areThere, "needs the right to make mount namespaces (unshare -m)"))
struct NamespaceTests {
  @Test(.timeLimit(.minutes(20)))
  func aSecondPoolOnTheStoreIsRefusedThroughABindMount() throws {
    // Given a pool, and its directory mounted under a second name in another namespace
    let items = try ItemPool()
    let pool = try items.start()
    let alias = items.place.path("alias")
    try FileManager.default.createDirectory(atPath: alias, withIntermediateDirectories: true)
    // When a pool starts there on the store
    let second = try StartingPool(
      items, store: alias + "/app.sqlite", queue: items.place.path("other"),
      through: Namespace.mounting(items.place.url.path, on: alias)
    ).end()
    // Then it is told about the first
    #expect(second.code == 1)
    let sentence = "another pool, process \(pool.pid), runs on the store \(alias)/app.sqlite"
    #expect(second.lines.last?.contains(sentence) == true, "\(second.lines)")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool, value: 0)
  }

  /// Both see each other's processes, and their workers have the same paths in their environment.
  @Test(.timeLimit(.minutes(20)))
  func aPoolWithTheSamePathsInAnotherNamespaceKeepsItsWorker() throws {
    // Given a pool whose worker runs a job, and a directory like its own
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let pool = try items.start()
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let worker = try stop.waitForArrival()
    let other = try ItemPool()
    // When a pool starts and ends on that directory, which lies at the same path for it
    let second = try StartingPool(
      items, through: Namespace.mounting(other.place.url.path, on: items.place.url.path))
    let line = second.line(with: "running on")
    #expect(line != nil)
    #expect(second.end(SIGTERM).code == 0)
    // Then the first one's worker has noticed nothing
    #expect(worker.isAlive)
    stop.release()
    try pool.waitForJobs(1)
    #expect(try items.rows() == "3|1|0")
    try pool.stop()
    #expect(try sqlite(other.store, "SELECT count(*) FROM WPPOOLJOB") == "0")
  }
}

/// Mount namespaces, made by unshare(1).
private enum Namespace {
  static let areThere = (try? run("/usr/bin/env", ["unshare", "-m", "true"]).code) == 0

  /// Runs what follows where `source` is seen at `target`, too.
  static func mounting(_ source: String, on target: String) -> [String] {
    ["/usr/bin/env", "unshare", "-m", "sh", "-c", #"mount --bind "$0" "$1" && shift && exec "$@""#, source, target]
  }
}
