import Foundation
import Jobs
import Testing
import WorkerPool

/// A store that keeps its model needs nothing but its file, whichever program wrote it.
@Suite(.serialized) struct ModellessStoreTests {
  /// Stores with an entity of each.
  private static let stores = Fixtures.arguments(
    own: [("Harbour-1", "Tide")], apple: [("DDG-Bookmarks-V5", "BookmarkEntity")])

  private func copy(_ name: String, _ place: TestPlace) throws -> String {
    try Fixtures.copy(name, model: "none", into: place).store
  }

  private func count(_ entity: String, _ store: String) throws -> Int {
    try #require(Int(try sqlite(store, "SELECT count(*) FROM Z\(entity.uppercased())")))
  }

  @Test(.timeLimit(.minutes(20)), arguments: stores)
  func fetchAndStatusNeedNoModelAndNoPool(name: String, entity: String) throws {
    let place = try TestPlace()
    let store = try copy(name, place)
    let count = try count(entity, store)
    let fetched = try workerpool("fetch", entity, "--json", "--store", store)
    #expect(fetched.code == 0, "\(fetched.errors)")
    #expect(fetched.lines.count == count)
    let status = try workerpool("status", "--store", store)
    #expect(status.code == 0, "\(status.errors)")
    #expect(status.output.contains("no pool has run on this store yet") && status.output.contains(entity))
    let json = try workerpool("status", "--store", store, "--json").output
    #expect(json.contains(#""entities":{"#) && json.contains(#""\#(entity)":\#(count)"#), "\(json)")
    #expect(json.contains(#""jobs":null"#))
    for arguments in [["jobs"], ["jobs", "show", "p1"]] {
      let jobs = try run(Built.path("workerpool"), arguments + ["--store", store])
      #expect(jobs.code != 0 && jobs.errors.contains("no pool has run on this store yet"), "\(jobs.errors)")
    }
    #expect(try sqlite(store, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'WPPOOL%'") == "0")
  }

  @Test(.timeLimit(.minutes(20)), arguments: stores)
  func aPoolExportsFromAStoreWithoutAModel(name: String, entity: String) throws {
    let place = try TestPlace()
    let store = try copy(name, place)
    let count = try count(entity, store)
    let kept = try sqlite(store, "SELECT hex(Z_CONTENT) FROM Z_MODELCACHE")
    let file = place.path("objects.jsonl")
    let pool = try RunningPool(place, store: store, model: nil, plugins: try place.plugins("worker-export"))
    try pool.submit("export", "--set", "entity=\(entity)", "--set", "file=\(file)")
    try pool.waitForJobs(1)
    #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == count)
    // While the pool runs, and told by it.
    #expect(try pool.command("fetch", entity, "--json", "--limit", "0").lines.count == count)
    #expect(try pool.command("jobs", "show", "p1").output.contains("succeeded"))
    #expect(try pool.command("status").code == 0)
    try pool.stop()
    #expect(try workerpool("status", "--store", store).output.contains("jobs   1 succeeded"))
    #expect(try workerpool("jobs", "--store", store).output.contains("succeeded"))
    #expect(try sqlite(store, "SELECT hex(Z_CONTENT) FROM Z_MODELCACHE") == kept)
  }

  /// Foundation would say of each that the data may be corrupt.
  @Test(
    .timeLimit(.minutes(20)),
    arguments: Fixtures.arguments(own: [("Harbour-1", "Tug", 2)], apple: [("CoreDataPlus-SampleModel2-V2", "Book", 3)]))
  func valuesOfClassesThatThisProgramLacksAreReadInSilence(name: String, entity: String, count: Int) throws {
    let place = try TestPlace()
    let store = try copy(name, place)
    let fetched = try run(Built.path("workerpool"), ["fetch", entity, "--store", store])
    #expect(fetched.code == 0 && fetched.lines.count == count + 1 && fetched.errors.isEmpty, "\(fetched)")
  }

  @Test(.timeLimit(.minutes(20))) func withoutAModelAnywhereThereIsOneSentence() throws {
    let place = try TestPlace()
    let new = place.path("new.sqlite")
    let missing = try workerpool("run", "--store", new, "--queue", place.path("queue"))
    #expect(missing.code != 0 && missing.errors.contains("--model must name the model of the new store"))
    #expect(!FileManager.default.fileExists(atPath: new))
    let store = try copy("Harbour-1", place)
    _ = try sqlite(store, "DELETE FROM Z_MODELCACHE")
    let unkept = try workerpool("run", "--store", store, "--queue", place.path("queue"))
    #expect(unkept.code != 0 && unkept.errors.contains("keeps no copy of its model, as"), "\(unkept.errors)")
    let text = try place.write("no model", to: "notes.txt")
    let wrong = try workerpool("run", "--store", store, "--model", text, "--queue", place.path("queue"))
    #expect(wrong.code != 0 && wrong.errors.contains("is neither a data model nor a store"), "\(wrong.errors)")
  }
}
