import Foundation
import Testing
import WorkerPool

/// A commit that cannot be made: what the job did outside the store is not done again, and nothing begins that could
/// not be saved.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, "only root can mount a small disk")) struct FullDiskTests {
  /// A pool whose store lies on a small disk, and a job that has done its work and waits to return.
  private struct Scene {
    let items: ItemPool
    let disk: SmallDisk
    let pool: RunningPool
    let stop: StopPoint
    let lines: String

    /// - Parameter kinds: of the jobs, of which the first waits.
    init(_ kinds: String...) throws {
      let place = try TestPlace()
      disk = try SmallDisk(place)
      items = try ItemPool(items: kinds.count, in: place, store: "disk/app.sqlite")
      pool = try items.start()
      stop = try StopPoint(place)
      lines = place.path("lines")
      for (kind, item) in zip(kinds, items.items) {
        let isFirst = item == items.items[0]
        try items.submit(
          kind, items: [item], ["--set", "lines=\(lines)"] + (isFirst ? ["--set", "stop=\(stop.path)"] : []))
        if isFirst { _ = try stop.waitForArrival() }
      }
      try pool.wait { status in kinds.count == 1 || status.jobs?["available"] == kinds.count - 1 }
    }

    func fillDisk() throws {
      // A log that is empty has no room that a commit could use again.
      #expect(try sqlite(items.store, "PRAGMA wal_checkpoint(TRUNCATE)").hasPrefix("0|"))
      try disk.fill()
    }

    /// How often the jobs have run.
    var runs: Int { (try? String(contentsOfFile: lines, encoding: .utf8))?.split(separator: "\n").count ?? 0 }

    func waitForStoreWait(_ reason: String) throws {
      try pool.wait { status in status.workers.contains { $0.waitsForStore == reason } }
    }
  }

  @Test(.timeLimit(.minutes(20))) func aJobThatHasRunIsSavedWhenThereIsRoomAndIsNotRunAgain() throws {
    let scene = try Scene("append")
    try scene.fillDisk()
    scene.stop.release()
    try scene.waitForStoreWait("full")
    let text = try scene.pool.command("status").output
    #expect(text.contains("p1, not saved: disk full"), "\(text)")
    #expect(text.contains("wait because the disk of the store is full"), "\(text)")
    // Job files wait, too, which no worker can tell.
    try scene.pool.wait { $0.fullDisks?.isEmpty == false }
    scene.disk.empty()
    try scene.pool.waitForJobs(1)
    try scene.pool.wait { $0.fullDisks == nil }
    #expect(scene.runs == 1)
    #expect(try scene.items.rows() == "3|1|0")
    #expect(try scene.pool.status().workers.allSatisfy { $0.waitsForStore == nil })
    try scene.pool.stop()
    #expect(try sqlite(scene.items.store, "SELECT ZVALUE FROM ZITEM") == "1")
  }

  /// The pool is killed while the disk is full: the next one says what to do before it can start.
  @Test(.timeLimit(.minutes(20))) func aStartOnAFullDiskSaysWhatToDo() throws {
    let scene = try Scene("append")
    try scene.fillDisk()
    for process in try [scene.pool.pid] + scene.pool.leftovers() { kill(process, SIGKILL) }
    _ = scene.pool.waitForExit()
    let refused = try run(
      Built.path("workerpool"),
      [
        "run", "--store", scene.items.store, "--model", scene.items.model, "--queue", scene.items.queue, "--plugins",
        scene.items.plugins, "--without-bundled",
      ])
    #expect(refused.code != 0)
    #expect(
      refused.errors.contains("its disk is full: free space there, and start the pool again"), "\(refused.errors)")
    scene.disk.empty()
    let next = try scene.items.start()
    _ = try scene.stop.waitForArrival()
    scene.stop.release()
    try next.waitForJobs(1)
    try next.stop()
  }

  @Test(.timeLimit(.minutes(20))) func noJobBeginsWhileTheDiskIsAsGoodAsFull() throws {
    let scene = try Scene("append", "append")
    try scene.fillDisk()
    // Enough for the commit of the first job, too little for another one to begin.
    try scene.disk.makeRoom(600_000)
    scene.stop.release()
    try scene.pool.waitForJobs(1)
    try scene.waitForStoreWait("full")
    let text = try scene.pool.command("status").output
    #expect(text.contains("not begun: disk full"), "\(text)")
    #expect(scene.runs == 1)
    scene.disk.empty()
    try scene.pool.waitForJobs(2)
    #expect(scene.runs == 2)
    try scene.pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aCommitThatFailsForGoodIsAnAttemptWithAnErrorOfItsOwn() throws {
    let scene = try Scene("append-impatiently")
    try scene.fillDisk()
    scene.stop.release()
    try scene.waitForStoreWait("full")
    // The worker gives up when it says that it tries to note the failure.
    try scene.pool.wait { status in
      status.workers.contains { worker in worker.lastLines.contains { $0.contains("cannot be noted yet") } }
    }
    scene.disk.empty()
    try scene.pool.wait { $0.jobs?["retryable"] == 1 }
    #expect(scene.runs == 1)
    #expect(try scene.items.rows() == "2|1|0")
    let errors = try sqlite(scene.items.store, "SELECT ZERRORS FROM WPPOOLJOB")
    #expect(
      errors.contains(#""type":"commit""#) && errors.contains("the work was done, but could not be saved"), "\(errors)")
    #expect(try sqlite(scene.items.store, "SELECT ZVALUE FROM ZITEM") == "0")
    try scene.pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aJobThatWaitsToBeSavedGoesBackUncountedAtThePoolsEnd() throws {
    let scene = try Scene("append")
    try scene.fillDisk()
    scene.stop.release()
    try scene.waitForStoreWait("full")
    #expect(try scene.pool.command("stop", "--deadline", "0").code == 0)
    #expect(scene.pool.waitForExit() >= 0)
    scene.disk.empty()
    #expect(try scene.items.rows() == "0|0|0")
  }
}

/// The same with a lock that another process has.
@Suite(.serialized) struct LockedCommitTests {
  @Test(.timeLimit(.minutes(20))) func aProgramRunsOnceThoughItsJobCannotBeCommitted() throws {
    let place = try TestPlace()
    let stop = try StopPoint(place)
    let lines = place.path("lines")
    let script = try place.write(
      "#!/bin/sh\necho ran >> '\(lines)'\necho $$ > '\(stop.path).arrived'\nread go < '\(stop.path).go'\n",
      to: "script.sh", mode: 0o755)
    try place.write(#"{"commands": {"script": {"path": "\#(script)"}}}"#, to: "queue/exec.json", mode: 0o600)
    let pool = try RunningPool(
      place, store: place.path("items.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-exec"), workers: 1)
    try pool.submit("exec", "--set", "command=script")
    _ = try stop.waitForArrival()
    let holder = try StoreShell(store: pool.store, "BEGIN IMMEDIATE;")
    stop.releaseReader()
    try pool.wait { status in status.workers.contains { $0.waitsForStore == "locked" } }
    let text = try pool.command("status").output
    #expect(text.contains("p1, not saved: store locked"), "\(text)")
    try holder.letGo()
    try pool.waitForJobs(1)
    #expect(try String(contentsOfFile: lines, encoding: .utf8) == "ran\n")
    #expect(try sqlite(pool.store, "SELECT ZSTATE, ZATTEMPT, ZCRASHES FROM WPPOOLJOB") == "3|1|0")
    try pool.stop()
  }
}
