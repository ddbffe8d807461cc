import CoreData
import Foundation
import TestFiles
import Testing

@testable import Jobs

/// Jobs of files that are inserted without objects have the rows that objects would have.
///
/// In a file only: a pool at a server takes job files with objects.
@Suite struct PlainIntakeTests {
  @Test(arguments: 0..<8) func rowsAreThoseThatObjectsWouldHave(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
    let files = (0..<Int.random(in: 1...4, using: &random)).map { _ in
      (0..<Int.random(in: 1...60, using: &random)).map { _ in Self.randomRequest(now, &random) }
    }
    let names = files.indices.map { TakenFileKey("file-\($0)", in: "directory") }
    let plain = try Place()
    let objects = try Place()

    try plain.perform { store, context in
      #expect(files.allSatisfy(store.isPlain))
      let intake = try #require(
        try store.insertPlain(files, files: names, atMost: 500, into: context, at: now))
      #expect(intake.count == files.joined().count && intake.files.count == files.count)
      try objects.perform { store, context in
        let jobs = try store.insert(files.flatMap(\.self), into: context, at: now)
        let rows = names.map { store.insertTakenFile($0, into: context) }
        try context.save()
        #expect(intake.ready == jobs.compactMap(JobSummary.init))
        #expect(intake.files.map(\.key) == rows.map(\.objectID.key))
      }
    }

    #expect(try plain.rows == objects.rows)
  }

  private static func randomRequest(_ now: Date, _ random: inout SeededGenerator) -> JobRequest {
    var request = JobRequest(
      kind: ["a", "import", "a-rather-long-name-of-a-kind"].randomElement(using: &random) ?? "a")
    func perhaps(_ change: () -> Void) { if Int.random(in: 0..<4, using: &random) == 0 { change() } }
    perhaps { request.objects = ["x-coredata://A/Note/p1", "x-coredata://A/Note/p22"] }
    perhaps { request.parameters = #"{"path":"/tmp/ä","number":1.50}"# }
    perhaps { request.priority = -3 }
    perhaps { request.queue = "slow" }
    perhaps { request.runAt = now + 60 }
    perhaps { request.runAt = now - 60 }
    perhaps { request.maxAttempts = 7 }
    perhaps { request.timeout = 1.5 }
    perhaps { request.batch = "night" }
    perhaps {
      request.limitKey = "disk"
      request.options.limit = 3
    }
    perhaps { request.options.backoff = 2 }
    perhaps { request.options.after = ["x-coredata://A/PoolJob/p1"] }
    return request
  }

  /// Keys, labels and tokens concern other jobs, which the intake has to look at.
  @Test func jobsThatConcernOthersAreNotPlain() throws {
    try Place().perform { store, _ in
      #expect(store.isPlain([request(), request { $0.parameters = "{}" }]))
      #expect(!store.isPlain([request(), request { $0.uniqueKey = "k" }]))
      #expect(!store.isPlain([request { $0.label = "l" }, request()]))
      #expect(!store.isPlain([request { $0.submission = "s" }]))
    }
  }

  @Test func ofTooManyJobsNoneIsTold() throws {
    try Place().perform { store, context in
      let jobs = Array(repeating: JobRequest(kind: "a"), count: 50)
      let intake = try #require(
        try store.insertPlain([jobs], files: [TakenFileKey("f", in: "directory")], atMost: 49, into: context))
      #expect(intake.count == 50 && intake.ready.isEmpty)
      #expect(try store.readyJobs(ReadyQuery(kind: "a", limit: 100), in: context).map(\.key) == Array(1...50))
    }
  }

  /// A store of its own.
  private final class Place {
    private let directory = temporaryURL("plain")
    private let store: JobStore

    init() throws {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      store = try JobStore(url: directory.appendingPathComponent("app.sqlite"), model: NoteModel.make())
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func perform(_ body: (JobStore, NSManagedObjectContext) throws -> Void) throws {
      let context = store.makeContext(name: "test")
      try context.performAndWait { try body(store, context) }
    }

    /// All values of all jobs and files, as texts.
    var rows: [[String]] {
      get throws {
        let context = store.makeContext(name: "rows")
        return try context.performAndWait {
          try [Job.entityName, "PoolFile"].flatMap { name in
            let request = NSFetchRequest<NSManagedObject>(entityName: name)
            request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
            return try context.fetch(request).map { object in
              let names = object.entity.attributesByName.keys.sorted()
              return [object.objectID.key.map { "p\($0)" } ?? ""]
                + names.map { "\($0)=\(object.value(forKey: $0).map { "\($0)" } ?? "nil")" }
            }
          }
        }
      }
    }
  }
}
