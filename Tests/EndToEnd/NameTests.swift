import Foundation
import Testing

/// Names that nobody knows are told, with the nearest known one, and mistyped ones change nothing.
@Suite(.serialized) struct NameTests {
  @Test(.timeLimit(.minutes(20)))
  func mistypedNamesAreErrorsWhereAPoolCanTell() throws {
    // Given a pool with jobs in a queue and a batch
    let items = try ItemPool()
    let pool = try items.start()
    try pool.submit("nothing", "--job-queue", "reports", "--batch", "night")
    try pool.waitForJobs(1)
    // When a name is mistyped, then the command fails and names the nearest
    for (arguments, message) in [
      (["submit", "nothng"], "no plugin of the pool runs the kind nothng; did you mean nothing?"),
      (["submit", "nothing", "--job-queue", "repotrs"], "no job is in the queue repotrs; did you mean reports?"),
      (["submit", "nothing", "--after-batch", "nihgt"], "there is no batch nihgt; did you mean night?"),
      (["submit", "nothing", "--after-batch", "zzz"], "there is no batch zzz"),
      (["submit", "xyzzy"], "no plugin of the pool runs the kind xyzzy"),
      (["pause", "repotrs"], "no job is in the queue repotrs; did you mean reports?"),
      (["pause", "defualt"], "did you mean default?"),
      (["resume", "--kind", "nothng"], "did you mean nothing?"),
      (["scale", "tset=1"], "there is no plugin tset; did you mean test?"),
    ] {
      let finished = try run(Built.path("workerpool"), arguments + ["--queue", items.queue])
      #expect(finished.code == 1 && finished.errors.contains(message), "\(arguments): \(finished)")
    }
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "1")
    let status = try pool.status()
    #expect(status.pausedQueues.isEmpty)
    for (arguments, message) in [
      (["jobs", "--kind", "nothng"], "no job has the kind nothng; did you mean nothing?"),
      (["jobs", "--job-queue", "repotrs"], "no job has the queue repotrs; did you mean reports?"),
      (["cancel", "--batch", "nihgt", "--yes"], "no job has the batch nihgt; did you mean night?"),
    ] {
      let finished = try run(Built.path("workerpool"), arguments + ["--queue", items.queue])
      #expect(finished.code == 0 && finished.errors == message + "\n", "\(arguments): \(finished)")
    }
    // And what is meant is done
    #expect(try pool.command("pause", "reports").errors.isEmpty)
    let new = try pool.command("pause", "tomorrow")
    #expect(new.code == 0 && new.errors.contains("No job has come into the queue tomorrow yet"), "\(new)")
    #expect(try pool.command("pause", "repotrs", "--even-if-unknown").code == 0)
    #expect(try pool.status().pausedQueues == ["reports", "repotrs", "tomorrow"])
    #expect(try pool.command("submit", "nothng", "--even-if-unknown").code == 0)
    try pool.stop()
  }

  /// Who has a queue for each customer has not mistyped the second one's.
  @Test(.timeLimit(.minutes(20)))
  func aNameThatDiffersInItsNumberIsANewOne() throws {
    let items = try ItemPool()
    let pool = try items.start()
    for number in [1, 2, 10] {
      let finished = try pool.command(
        "submit", "nothing", "--job-queue", "tenant-\(number)", "--batch", "page\(number)")
      #expect(finished.code == 0, "\(finished)")
    }
    try pool.waitForJobs(3)
    let mistyped = try pool.command("submit", "nothing", "--job-queue", "tenatn-1")
    #expect(mistyped.code != 0 && mistyped.errors.contains("did you mean tenant-1?"), "\(mistyped)")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolTellsWhichNamesInItsOptionsNobodyKnows() throws {
    let items = try ItemPool()
    let pool = try StartingPool(
      items, options: ["--limit", "nothng=2", "--rate", "nothing=5/1", "--rate", "xyzzy=5/1"])
    let first = pool.line(with: "--limit nothng")
    #expect(first?.hasSuffix("no plugin runs the kind nothng; did you mean nothing?") == true, "\(first ?? "")")
    #expect(pool.line(with: "--rate")?.hasSuffix("--rate xyzzy: no plugin runs the kind xyzzy") == true)
    #expect(pool.end(SIGTERM).code == 0)
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobWhoseBatchIsMistypedWaitsAndIsTold() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.drop([#"{"kind": "nothing", "batch": "night"}"#], as: "batch.json")
    try pool.waitForJobs(1)
    try items.drop([#"{"kind": "nothing", "afterBatch": "nihgt"}"#], as: "mistyped.json")
    try pool.wait { $0.stuck?.first?.batch == "nihgt" }
    try pool.submit("nothing", "--after-batch", "night")
    try pool.waitForJobs(2)
    let status = try pool.command("status").output
    #expect(status.contains("p2 waits for the batch nihgt, which has no job; did you mean night?"), "\(status)")
    let shown = try pool.command("jobs", "show", "p2").output
    #expect(shown.contains("waits for the first job of the batch nihgt"), "\(shown)")
    let lines = try run(Built.path("workerpool"), ["logs", "--queue", items.queue, "--json"]).lines
    let told = lines.filter { $0.contains("job.batch-unknown") }
    #expect(
      told.count == 1
        && told[0].contains("/PoolJob/p2 waits for the batch nihgt, which has no job; did you mean night?"))
    // The batch may come later, and by whatever way.
    try items.drop([#"{"kind": "nothing", "batch": "nihgt"}"#], as: "later.json")
    try pool.waitForJobs(4)
    try pool.stop()
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLWAIT") == "0")
  }

  @Test(.timeLimit(.minutes(20)))
  func batchesThatWaitForEachOtherAreNamed() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.drop(
      [
        #"{"kind": "nothing", "batch": "a", "afterBatch": "b"}"#,
        #"{"kind": "nothing", "batch": "b", "afterBatch": "a"}"#, #"{"kind": "nothing", "afterBatch": "a"}"#,
      ], as: "cycle.json")
    try pool.wait { $0.stuck?.isEmpty == false }
    let status = try pool.command("status").output
    #expect(status.contains("p1 (batch a) and p2 (batch b) wait for each other"), "\(status)")
    #expect(try pool.command("retry", "p1").code == 0)
    try pool.waitForJobs(3)
    #expect(try pool.status().stuck == nil)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func anImportThatNamesAColumnWhichTheFileDoesNotHaveIsDead() throws {
    let place = try TestPlace()
    let pool = try RunningPool(
      place, store: place.path("iso.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-import"))
    let file = try place.write("code,Name\nAA,Somewhere\n", to: "a.csv")
    let finished = try pool.command(
      "submit", "import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2", "--set",
      #"map={"code":"alpha_2","Nmae":"name"}"#, "--wait")
    #expect(finished.code == 1)
    #expect(finished.output.contains(#"no column "Nmae", which "map" needs; did you mean "Name"?"#), "\(finished)")
    #expect(try sqlite(pool.store, "SELECT count(*) FROM ZCOUNTRY") == "0")
    try pool.stop()
  }
}
