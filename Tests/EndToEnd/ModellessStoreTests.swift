import Foundation
import Jobs
import Testing
import WorkerPool

/// A store that keeps its model needs nothing but its file: here one that Apple's framework wrote.
@Suite(.serialized, .enabled(if: Fixtures.areThere, "the fixtures are not there: set WORKERPOOL_FIXTURES"))
struct ModellessStoreTests {
  private func copy(_ place: TestPlace) throws -> String {
    try Fixtures.copy("DDG-Bookmarks-V5", model: "none", into: place).store
  }

  private func count(_ store: String) throws -> Int {
    try #require(Int(try sqlite(store, "SELECT count(*) FROM ZBOOKMARKENTITY")))
  }

  @Test(.timeLimit(.minutes(20))) func fetchAndStatusNeedNoModelAndNoPool() throws {
    let place = try TestPlace()
    let store = try copy(place)
    let fetched = try workerpool("fetch", "BookmarkEntity", "--json", "--store", store)
    #expect(fetched.code == 0, "\(fetched.errors)")
    #expect(try fetched.lines.count == count(store))
    let status = try workerpool("status", "--store", store)
    #expect(status.code == 0, "\(status.errors)")
    #expect(status.output.contains("no pool has run on this store yet") && status.output.contains("BookmarkEntity"))
    let json = try workerpool("status", "--store", store, "--json").output
    #expect(try json.contains(#""entities":{"BookmarkEntity":\#(count(store))"#), "\(json)")
    #expect(json.contains(#""jobs":null"#))
    for arguments in [["jobs"], ["jobs", "show", "p1"]] {
      let jobs = try run(Built.path("workerpool"), arguments + ["--store", store])
      #expect(jobs.code != 0 && jobs.errors.contains("no pool has run on this store yet"), "\(jobs.errors)")
    }
    #expect(try sqlite(store, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'WPPOOL%'") == "0")
  }

  @Test(.timeLimit(.minutes(20))) func aPoolExportsFromAStoreWithoutAModel() throws {
    let place = try TestPlace()
    let store = try copy(place)
    let count = try count(store)
    let kept = try sqlite(store, "SELECT hex(Z_CONTENT) FROM Z_MODELCACHE")
    let file = place.path("bookmarks.jsonl")
    let pool = try RunningPool(place, store: store, model: nil, plugins: try place.plugins("worker-export"))
    try pool.submit("export", "--set", "entity=BookmarkEntity", "--set", "file=\(file)")
    try pool.waitForJobs(1)
    #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == count)
    // While the pool runs, and told by it.
    #expect(try pool.command("fetch", "BookmarkEntity", "--json", "--limit", "0").lines.count == count)
    #expect(try pool.command("jobs", "show", "p1").output.contains("succeeded"))
    #expect(try pool.command("status").code == 0)
    try pool.stop()
    #expect(try workerpool("status", "--store", store).output.contains("jobs   1 succeeded"))
    #expect(try workerpool("jobs", "--store", store).output.contains("succeeded"))
    #expect(try sqlite(store, "SELECT hex(Z_CONTENT) FROM Z_MODELCACHE") == kept)
  }

  /// Foundation would say of each that the data may be corrupt.
  @Test(.timeLimit(.minutes(20))) func valuesOfClassesThatThisProgramLacksAreReadInSilence() throws {
    let place = try TestPlace()
    let store = try Fixtures.copy("CoreDataPlus-SampleModel2-V2", model: "none", into: place).store
    let fetched = try run(Built.path("workerpool"), ["fetch", "Book", "--store", store])
    #expect(fetched.code == 0 && fetched.lines.count == 4 && fetched.errors.isEmpty, "\(fetched)")
  }

  @Test(.timeLimit(.minutes(20))) func withoutAModelAnywhereThereIsOneSentence() throws {
    let place = try TestPlace()
    let new = place.path("new.sqlite")
    let missing = try workerpool("run", "--store", new, "--queue", place.path("queue"))
    #expect(missing.code != 0 && missing.errors.contains("--model must name the model of the new store"))
    #expect(!FileManager.default.fileExists(atPath: new))
    let store = try copy(place)
    _ = try sqlite(store, "DELETE FROM Z_MODELCACHE")
    let unkept = try workerpool("run", "--store", store, "--queue", place.path("queue"))
    #expect(unkept.code != 0 && unkept.errors.contains("keeps no copy of its model, as"), "\(unkept.errors)")
    let text = try place.write("no model", to: "notes.txt")
    let wrong = try workerpool("run", "--store", store, "--model", text, "--queue", place.path("queue"))
    #expect(wrong.code != 0 && wrong.errors.contains("is neither a data model nor a store"), "\(wrong.errors)")
  }
}
