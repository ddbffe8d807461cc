import CoreData
import Foundation
import Jobs
import Testing

/// Names that no job has, and what was probably meant by them.
@Suite struct UnknownNameTests {
  /// A finished job and one that waits, of other kinds and queues.
  private func insertJobs(_ store: JobStore, _ context: NSManagedObjectContext) throws {
    let finished = request("export") { $0.queue = "archive" }
    let jobs = try store.insert(
      [finished, request("import") { ($0.queue, $0.batch) = ("reports", "night") }], into: context)
    try jobs[0].markCancelled(at: Date())
    try context.save()
  }

  @Test(arguments: JobStoreKind.allCases)
  func theNearestNameOfJobsIsFoundWhetherTheyAreFinishedOrNot(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      try insertJobs(store, context)
      for (what, name, nearest) in [
        (JobName.kind, "imprt", "import"), (.kind, "exprot", "export"), (.queue, "repotrs", "reports"),
        (.queue, "archvie", "archive"), (.batch, "nihgt", "night"), (.batch, "bight", "night"),
      ] {
        let unknown = try JobStore.unknownName(what, name, in: context)
        #expect(
          unknown?.what == what.rawValue && unknown?.name == name && unknown?.nearest == nearest, "\(unknown as Any)")
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aNameThatAJobHasIsKnown(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      try insertJobs(store, context)
      for (what, name) in [
        (JobName.kind, "import"), (.kind, "export"), (.queue, "reports"), (.queue, "archive"), (.batch, "night"),
      ] {
        #expect(try JobStore.unknownName(what, name, in: context) == nil, "\(name)")
      }
    }
  }

  @Test func whatIsKnownWithoutJobsCountsToo() throws {
    try withStore { _, context in
      #expect(try JobStore.unknownName(.queue, "fast", besides: ["fast"], in: context) == nil)
      #expect(try JobStore.unknownName(.queue, "fats", besides: ["fast"], in: context)?.nearest == "fast")
      let unknown = try JobStore.unknownName(.batch, "night", in: context)
      #expect(unknown?.hint.isEmpty == true)
    }
  }

  /// Who has a queue for each customer has not mistyped the second one's; kinds are not numbered so.
  @Test(arguments: JobStoreKind.allCases)
  func aQueueOrBatchThatDiffersInItsNumberIsNotMeant(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let job = request("import1") { ($0.queue, $0.batch) = ("tenant-1", "page-7") }
      _ = try store.insert([job, request { $0.options.afterBatch = "page-8" }], into: context)
      try context.save()
      for (what, name) in [(JobName.queue, "tenant-2"), (.batch, "page-8")] {
        let unknown = try #require(try JobStore.unknownName(what, name, in: context))
        #expect(unknown.nearest == nil)
      }
      #expect(try JobStore.unknownName(.kind, "import2", in: context)?.nearest == "import1")
      // The same holds for the batch that a job waits for.
      _ = try store.adoptPending(in: context)
      try context.save()
      #expect(try store.stuckJobs(in: context).map(\.nearest) == [nil])
    }
  }
}
