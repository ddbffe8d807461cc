import Foundation
import Jobs
import Testing
import WorkerPool

/// What jobs use: measured, shown by kind and by job, and limited.
@Suite(.serialized) struct JobUseTests {
  @Test(.timeLimit(.minutes(20)))
  func whatJobsUseIsShownByKindAndByJob() throws {
    // Given a job that needs half a second of processor time, and one that needs memory
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("misbehave", "--set", "how=burn")
    try pool.waitForJobs(1)
    try items.submit("misbehave", "--set", "how=fill")
    try pool.waitForJobs(2)
    // When people ask, then each job shows what it has used
    func use(_ job: String) throws -> JSONValue {
      let shown = try pool.command("jobs", "show", job, "--json").output
      return try #require(try JSONParser.parse(shown)["use"], "\(shown)")
    }
    let burnt = try #require(try use("p1")["processorTime"]?.doubleValue)
    #expect(burnt >= 0.45 && burnt < 5, "\(burnt)")
    #expect(try use("p2")["peakMemory"]?.intValue ?? 0 >= 192 << 20)
    let story = try pool.command("jobs", "show", "p1").output
    #expect(story.contains("used       ") && story.contains(" of processor time, "), "\(story)")
    // And their kind what both have
    let kind = try #require(try pool.status().kinds?.first { $0.kind == "misbehave" }?.use)
    #expect(kind.processorTime >= burnt && kind.peakMemory ?? 0 >= 192 << 20, "\(kind)")
    let text = try pool.command("status").output
    #expect(text.contains("CPU each") && text.contains("written"), "\(text)")
    let metrics = try pool.command("status", "--prometheus").output
    #expect(metrics.contains(#"workerpool_job_cpu_seconds_total{kind="misbehave"} "#), "\(metrics)")
    #expect(metrics.contains(#"workerpool_job_peak_memory_bytes{kind="misbehave"} "#), "\(metrics)")
    try pool.stop()
    try items.checkNothingIsLeft(of: pool, value: 2)
  }

  /// - Parameter isReplaced: whether the pool's program is replaced while the job runs.
  @Test(.timeLimit(.minutes(20)), arguments: [false, true])
  func aJobThatUsesMoreProcessorTimeThanItsKindMayFails(isReplaced: Bool) throws {
    let items = try ItemPool()
    // A limit that the job has not reached when the program is replaced.
    let limit = isReplaced ? "3" : "0.3"
    let pool = try items.start(options: ["--job-cpu", "misbehave=\(limit)"])
    try items.submit("misbehave", "--set", "how=loop")
    if isReplaced {
      try pool.waitForRunningWorker()
      #expect(try pool.command("reexec").output.contains("1 job in the hands of workers went on"))
    }
    // Its second attempt does not loop.
    try pool.waitForJobs(1)
    let job = try JSONParser.parse(try pool.command("jobs", "show", "p1", "--json").output)
    let error = try #require(job["errors"]?.arrayValue?.first)
    #expect(error["type"]?.stringValue == "processor-time")
    #expect(error["message"]?.stringValue == "used more than \(limit) s of processor time")
    let stack = error["stack"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(stack.contains { $0.contains("loopsWithoutEnd") }, "\(stack)")
    #expect(try pool.status().counters.timedOut == 1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|2|0")
  }

  @Test(arguments: ["misbehave", "misbehave=0", "misbehave=-1", "misbehave=much"])
  func aLimitThatIsNoNumberOfSecondsIsRefused(text: String) throws {
    let finished = try run(
      Built.path("workerpool"), ["run", "--store", "a.sqlite", "--queue", "queue", "--job-cpu", text])
    #expect(finished.code == 2 && finished.errors.contains("--job-cpu"), "\(finished)")
  }
}
