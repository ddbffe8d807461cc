import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

@testable import WorkerPool

/// The files of jobs that the pool settles, and what others may have left in their places.
@Suite struct JobSheetsTests {
  private let directory = temporaryURL("sheets")
  private var files: String { directory.path + "/jobs" }

  /// Runs the body with one job that is saved.
  private func withJob(_ body: (JobStore, Job, Int64) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let store = try JobStore(url: directory.appendingPathComponent("app.sqlite"), model: NSManagedObjectModel())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let job = try #require(try store.insert([JobRequest(kind: "told")], into: context).first)
      try context.save()
      try body(store, job, try #require(job.objectID.key))
    }
  }

  private func put(_ text: String, at path: String) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  // Worker of a pool that was killed | Its next pool
  //                                  | prepare
  // writes its outcome, and ends     |
  //                                  | gives the job out, under the same number
  @Test func theOutcomeOfAnEarlierPoolsWorkerIsNotOneOfThisRun() throws {
    try withJob { _, job, key in
      var sheets = JobSheets(directory: files)
      sheets.prepare()
      try put(#"{"output": "of the earlier run"}"#, at: "\(files)/p\(key)-1.outcome.json")
      try sheets.write(job, key, run: 1, timeout: nil)
      #expect(try sheets.outcome(of: key, run: 1) == ToldOutcome())
    }
  }

  @Test(arguments: ["p1.json", "p1.new", "p1-1.outcome.json"])
  func whatAWorkerHasPutInAFilesPlaceKeepsNoJob(name: String) throws {
    try withJob { _, job, key in
      try #require(key == 1)
      var sheets = JobSheets(directory: files)
      for isLink in [false, true] {
        if isLink {
          try put("precious", at: directory.path + "/victim")
          try FileManager.default.createSymbolicLink(
            atPath: "\(files)/\(name)", withDestinationPath: directory.path + "/victim")
        } else {
          try FileManager.default.createDirectory(atPath: "\(files)/\(name)", withIntermediateDirectories: false)
        }
        try sheets.write(job, key, run: 1, timeout: nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: files) == ["p1.json"])
        sheets.remove([key])
        #expect(try FileManager.default.contentsOfDirectory(atPath: files).isEmpty)
      }
      #expect(try String(contentsOfFile: directory.path + "/victim", encoding: .utf8) == "precious")
    }
  }

  @Test func aLinkInTheDirectorysPlaceCostsNobodyFiles() throws {
    try withJob { _, _, _ in
      let letter = directory.path + "/mine/letter"
      try FileManager.default.createDirectory(atPath: directory.path + "/mine", withIntermediateDirectories: false)
      try put("precious", at: letter)
      try FileManager.default.removeItem(atPath: files)
      try FileManager.default.createSymbolicLink(atPath: files, withDestinationPath: directory.path + "/mine")
      JobSheets(directory: files).prepare()
      #expect(FileManager.default.fileExists(atPath: letter))
      // A directory, for workers that are confined to it.
      #expect(try FileManager.default.attributesOfItem(atPath: files)[.type] as? FileAttributeType == .typeDirectory)
    }
  }

  @Test func anOutputHasNoZeroBytesWhichAServerRefuses() throws {
    #expect(try ToldOutcome(Array(#"{"output": "a\u0000b"}"#.utf8)).output == "a\u{FFFD}b")
  }

  @Test func aJobThatCannotBeDescribedIsDeadAndKeepsNoOther() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let layout = QueueLayout(root: directory.path)
    try layout.create()
    let store = try JobStore(url: directory.appendingPathComponent("app.sqlite"), model: NSManagedObjectModel())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.insert([JobRequest(kind: "told", parameters: "no JSON"), JobRequest(kind: "told")], into: context)
      try context.save()
      context.reset()
    }
    let source = try StoreJobSource(
      store: store, layout: layout, successor: Successor(queue: directory.path, identity: "me"),
      writeTurn: layout.writeTurn)
    try source.prepare()
    let events = Collected<JobSourceEvent>()
    source.start { events.add($0) }
    source.writeSheets([1: 1, 2: 2], for: WorkerID(number: 1))
    let isAnswered = events.wait { events in
      events.contains { if case .wroteSheets(_, [], [1], nil) = $0 { true } else { false } }
    }
    #expect(isAnswered)
    try context.performAndWait {
      let states = try store.jobs(keys: [1, 2], in: context).map { ($0.objectID.key, $0.state) }
      #expect(states.contains { $0 == (1, .dead) } && states.contains { $0 == (2, .available) })
    }
    #expect(FileManager.default.fileExists(atPath: layout.jobs + "/p2.json"))
    source.finish()
    #expect(events.wait { $0.contains { if case .finished = $0 { true } else { false } } })
  }
}
