import Foundation
import Testing
import WorkerPool

/// The programs as they are installed: copied away from the build directory, without what lies beside them there.
@Suite(.serialized) struct InstalledProgramTests {
  @Test(.timeLimit(.minutes(20))) func theModelOfThePoolIsPartOfTheProgram() throws {
    // Given a store with a pool's tables and a job, and the program alone in another directory
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("nothing")
    try pool.waitForJobs(1)
    try pool.stop()
    let program = items.place.path("installed")
    try FileManager.default.copyItem(atPath: Built.path("workerpool"), toPath: program)
    // When it reads the jobs
    let jobs = try run(program, ["jobs", "--json", "--limit", "0", "--store", items.store], in: items.place.url.path)
    // Then it knows their entity, and no resource of the build directory can have told it
    #expect(jobs.code == 0 && jobs.lines.count == 1 && jobs.lines[0].contains(#""kind":"nothing""#), "\(jobs)")
    let resources = try FileManager.default.contentsOfDirectory(atPath: Built.directory)
    #expect(!resources.contains("workerpool_Jobs.resources"))
  }
}
