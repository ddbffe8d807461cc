import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles

@testable import WorkerPool

/// A queue directory and a store in a temporary directory.
struct IntakePlace {
  let root = temporaryURL("intake")
  var layout: QueueLayout { layout("queue") }

  /// Another queue directory in the same place.
  func layout(_ name: String) -> QueueLayout { QueueLayout(root: root.appendingPathComponent(name).path) }

  init() throws {
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    try layout.create()
  }

  func remove() { try? FileManager.default.removeItem(at: root) }

  func store() throws -> JobStore {
    try JobStore(url: root.appendingPathComponent("app.sqlite"), model: NSManagedObjectModel())
  }

  // MARK: Files

  /// Writes a file as a producer does.
  func put(_ text: String, _ name: String, in layout: QueueLayout? = nil) throws {
    try Data(text.utf8).write(to: root.appendingPathComponent("file"))
    try FileManager.default.moveItem(
      atPath: root.appendingPathComponent("file").path, toPath: (layout ?? self.layout).incoming + "/" + name)
  }

  /// Makes a file look as if it had been written a while ago.
  func age(_ name: String, by seconds: Double = 60) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date() - seconds], ofItemAtPath: layout.incoming + "/" + name)
  }

  var incoming: [String] { names(layout.incoming) }
  var taken: [String] { names(layout.taken) }
  var rejected: [String] { names(layout.rejected) }

  /// The names in a directory, without that of its identity.
  func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0 != ".identity" }.sorted()
  }

  func reason(_ name: String) -> String {
    (try? String(contentsOfFile: layout.rejected + "/" + name + ".error", encoding: .utf8)) ?? ""
  }

  // MARK: A pool that is killed

  /// Renames the file as a pool does that is killed then.
  func rename(_ name: String, in layout: QueueLayout? = nil) throws -> TakenJobFile {
    guard case .taken(let file) = try IncomingDirectory(layout: layout ?? self.layout).take(name, minimumAge: 0) else {
      throw CocoaError(.fileNoSuchFile)
    }
    return file
  }

  /// Commits the jobs of the file and its note, as a pool does that is killed then.
  func commit(_ file: TakenJobFile, _ store: JobStore) throws {
    guard case .jobs(let jobs, _) = file.read(minimumAge: 0, owners: FileOwnerRule()) else {
      throw CocoaError(.fileReadUnknown)
    }
    let key = try file.key()
    let context = store.makeContext(name: "killed")
    try context.performAndWait {
      try store.insert(jobs, into: context)
      _ = store.insertTakenFile(key, into: context)
      try context.save()
    }
  }

  // MARK: The intake

  /// What the intake reports about the named files, or about all that wait, when it is done with them.
  func reports(_ names: [String]?, _ intake: Intake) async -> [IntakeReport] {
    let reports = Reports()
    intake.start { reports.add($0) }
    if let names { intake.take(names) } else { intake.takeAll() }
    await settle(intake)
    return reports.all
  }

  /// The same, added up.
  func take(_ names: [String]?, _ intake: Intake) async -> (
    files: Int, jobs: Int, rejected: [(name: String, reason: String)], postponed: Int, failures: [String],
    replaced: [QueuePart]
  ) {
    let all = await reports(names, intake)
    return (
      all.reduce(0) { $0 + $1.files }, all.reduce(0) { $0 + $1.jobs }, all.flatMap(\.rejected),
      all.reduce(0) { $0 + $1.postponed }, all.flatMap(\.messages), all.flatMap(\.replaced)
    )
  }

  /// Waits until all that was asked for is done, and files that are gone are forgotten if that was asked for.
  func settle(_ intake: Intake) async {
    for _ in 1...2 { await withCheckedContinuation { done in intake.afterAll { done.resume() } } }
  }

  private final class Reports: Sendable {
    private let reports = Mutex<[IntakeReport]>([])
    var all: [IntakeReport] { reports.withLock { $0 } }
    func add(_ report: IntakeReport) { reports.withLock { $0.append(report) } }
  }

  // MARK: The store

  func kinds(_ store: JobStore) throws -> [String] {
    let context = store.makeContext(name: "check")
    return try context.performAndWait { try context.fetch(Job.fetchRequest()).map(\.kind).sorted() }
  }

  func takenFiles(_ store: JobStore) throws -> Int {
    let context = store.makeContext(name: "check")
    return try context.performAndWait { try store.takenFiles(in: context).count }
  }
}
