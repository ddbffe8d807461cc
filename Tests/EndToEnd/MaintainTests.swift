import Foundation
import Testing
import WorkerPool

/// Care for the store as jobs, and what people do with finished jobs.
@Suite(.serialized) struct MaintainTests {
  private func pool(_ place: TestPlace) throws -> RunningPool {
    try RunningPool(
      place, store: place.path("iso.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-import", "worker-maintain"))
  }

  private func submitImport(_ place: TestPlace, _ pool: RunningPool, code: String) throws {
    let file = try place.write("alpha_2,name\n\(code),Somewhere\n", to: "\(code).csv")
    try pool.submit("import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2")
  }

  @Test(.timeLimit(.minutes(20))) func eachTaskIsDoneWhileThePoolRuns() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    try submitImport(place, pool, code: "AA")
    try pool.waitForJobs(1)
    let backup = place.path("backup.sqlite")
    let tasks = ["checkpoint", "optimize", "vacuum", "check", "backup"]
    for task in tasks.dropLast() { try pool.submit("maintain", "--set", "task=\(task)") }
    try pool.submit("maintain", "--set", "task=backup", "--set", "file=\(backup)")
    try pool.waitForJobs(1 + tasks.count)
    #expect(try sqlite(backup, "PRAGMA integrity_check; SELECT ZALPHA_2 FROM ZCOUNTRY") == "ok\nAA")
    #expect(try sqlite(backup, "SELECT count(*) FROM WPPOOLJOB") != "0", "the pool's jobs are in it, too")
    try pool.submit("maintain", "--set", "task=prune", "--set", "keep=0")
    try pool.wait { ($0.jobs?["succeeded"] ?? 0) <= 1 }
    #expect(try sqlite(pool.store, "SELECT ZALPHA_2 FROM ZCOUNTRY") == "AA")
    try pool.submit("maintain", "--set", "task=defragment")
    // Bounds that are not named delete nothing, and without any there is nothing to do.
    try pool.submit("maintain", "--set", "task=prune")
    try pool.wait { $0.jobs?["dead"] == 2 }
    let dead = try pool.command("jobs", "--state", "dead", "--json").output
    #expect(dead.contains("the parameters of prune need"), "\(dead)")
    try pool.stop()
  }

  /// The pool would take the file for a job file, or an unfinished one for rubbish.
  @Test(.timeLimit(.minutes(20)), arguments: ["incoming/b.jsonl", "b.sqlite", "incoming/../run/b"])
  func nothingIsWrittenIntoTheQueueDirectory(name: String) throws {
    let place = try TestPlace()
    let pool = try pool(place)
    try pool.submit("maintain", "--set", "task=backup", "--set", "file=\(pool.queue)/\(name)")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let story = try pool.command("jobs", "--json").output
    #expect(story.contains("lies in the queue directory"), "\(story)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "needs root, to mount a directory"))
  func norUnderAnotherNameOfIt() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let other = place.path("elsewhere")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    let mounted = try run("/usr/bin/env", ["mount", "--bind", "\(pool.queue)/incoming", other])
    try #require(mounted.code == 0, "\(mounted.errors)")
    defer { _ = try? run("/usr/bin/env", ["umount", "--lazy", other]) }
    try pool.submit("maintain", "--set", "task=backup", "--set", "file=\(other)/b.jsonl")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let story = try pool.command("jobs", "--json").output
    #expect(story.contains("lies in the queue directory"), "\(story)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func deadJobsAreRetriedByPredicate() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    for name in ["one", "two", "three"] {
      try pool.submit(
        "import", "--set", "file=\(place.path(name))", "--set", "entity=Country", "--set", "key=alpha_2",
        "--max-attempts", "1", "--priority", name == "three" ? "7" : "0")
    }
    try pool.wait { $0.jobs?["dead"] == 3 }
    #expect(try pool.command("jobs", "--state", "dead", "--where", "priority == 7").lines.count == 2)
    let wrong = try pool.command("retry", "--state", "dead", "--where", "prioritee == 7")
    #expect(wrong.code != 0)
    let cancelled = try pool.command("cancel", "--state", "dead", "--yes")
    #expect(cancelled.output == "no job matches\n", "what is dead cannot be cancelled: \(cancelled)")
    let retried = try pool.command("retry", "--state", "dead", "--where", "priority == 0", "--yes")
    #expect(retried.output == "2 of 2 jobs will run again\n", "\(retried)")
    #expect(try pool.command("retry").code == 2, "all jobs are not meant by naming none")
    try pool.stop()
  }
}
