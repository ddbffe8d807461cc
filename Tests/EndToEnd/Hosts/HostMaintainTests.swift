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
}
