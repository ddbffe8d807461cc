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
    // And knows what is none of its properties
    let typo = try run(program, ["jobs", "--where", #"kidn == "a""#, "--store", items.store], in: items.place.url.path)
    #expect(
      typo.code == 1 && typo.errors.contains("has no property kidn") && typo.errors.contains("did you mean kind?"),
      "\(typo)")
    #expect(try !looksForResources(of: "Jobs", program))
  }

  @Test(.timeLimit(.minutes(20))) func theDemoRunsFromACopyOfItsPrograms() throws {
    // Given the programs that the demo needs, alone in another directory, and texts
    let place = try TestPlace()
    let directory = place.path("installed")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    for name in ["workerpool", "worker-index"] {
      try FileManager.default.copyItem(atPath: Built.path(name), toPath: directory + "/" + name)
    }
    for number in 1...5 { try place.write("some words of text \(number)\n", to: "texts/\(number).txt") }
    // When the demo runs there
    let demo = try run(directory + "/workerpool", ["demo", place.path("texts")], in: directory)
    // Then it has its model, and no resource of the build directory can have told it
    #expect(demo.code == 0 && demo.output.contains("all 5 jobs are done"), "\(demo)")
    #expect(try !looksForResources(of: "Documents", directory + "/workerpool"))
  }

  /// Whether a program contains the name of a module's resource bundle.
  private func looksForResources(of module: String, _ program: String) throws -> Bool {
    let search = try run("/usr/bin/env", ["grep", "--quiet", "workerpool_\(module).resources", program])
    try #require(search.code <= 1, "\(search.errors)")
    return search.code == 0
  }
}
