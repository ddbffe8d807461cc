import Foundation
import TestFiles
import Testing

/// Jobs of the kind `maintain` for a store at a server.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct HostMaintainTests {
  @Test func oldJobsAreDeletedAndTasksForFilesAreRefusedAtOnce() throws {
    let hosts = try HostPools(worker: "worker-maintain")
    let pool = try hosts.start("a", counts: false)
    let tasks = ["checkpoint", "optimize", "vacuum", "check"]
    for task in tasks { try pool.submit("maintain", "--set", "task=\(task)") }
    try pool.submit("maintain", "--set", "task=backup", "--set", "file=\(hosts.place.path("backup"))")
    try pool.wait { $0.jobs?["dead"] == tasks.count + 1 }
    let dead = try pool.command("jobs", "--state", "dead", "--json").output
    for task in tasks + ["backup"] { #expect(dead.contains("the task \(task) is for stores in files"), "\(dead)") }
    try pool.submit("maintain", "--set", "task=prune", "--set", "deadOlderThan=0")
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    #expect(try pool.status().jobs?["dead"] ?? 0 == 0)
    try pool.stop()
  }

  /// The server refuses the second thousand, and lets the next attempt have it.
  @Test func aPruneThatIsTriedAgainTellsAllThatItHasDeleted() throws {
    let hosts = try HostPools(worker: "worker-maintain")
    let pool = try hosts.start("a", counts: false)
    let later = #"{"kind": "maintain", "parameters": {"task": "optimize"}, "runAt": "2999-01-01T00:00:00Z"}"#
    try hosts.drop(Array(repeating: later, count: 1500), as: "jobs.json", on: "a")
    try pool.wait { $0.jobs?["scheduled"] == 1500 }
    #expect(try pool.command("cancel", "--state", "scheduled", "--yes").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 1500 }
    let (schema, jobs) = (hosts.schema + "_wp", hosts.table("PoolJob"))
    try hosts.psql(
      """
      CREATE SEQUENCE \(schema).deleted; \
      CREATE FUNCTION \(schema).refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
      IF nextval('\(schema).deleted') > 1000 THEN RAISE EXCEPTION 'not yet'; END IF; RETURN OLD; END $$; \
      CREATE TRIGGER refuse BEFORE DELETE ON \(jobs) FOR EACH ROW EXECUTE FUNCTION \(schema).refuse()
      """)
    try pool.submit("maintain", "--set", "task=prune", "--set", "finishedOlderThan=0")
    try pool.wait { $0.jobs?["retryable"] == 1 }
    #expect(try pool.status().jobs?["cancelled"] == 500)
    try hosts.psql("DROP TRIGGER refuse ON \(jobs)")
    #expect(try pool.command("retry", "--state", "retryable", "--yes").code == 0)
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    let told = try pool.command("jobs", "--state", "succeeded", "--json").output
    #expect(told.contains("1500 jobs were deleted"), "\(told)")
    try pool.stop()
  }
}
