import CoreData
import Foundation
import Jobs
import Testing

@testable import WorkerPool

@Suite struct IntakeTests {
  /// A queue directory and a store in a temporary directory.
  private struct Place {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("intake-\(UUID().uuidString)")
    var layout: QueueLayout { QueueLayout(root: root.appendingPathComponent("queue").path) }

    init() throws {
      try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
      try layout.create()
    }

    func remove() { try? FileManager.default.removeItem(at: root) }

    func store() throws -> JobStore {
      try JobStore(url: root.appendingPathComponent("app.sqlite"), model: NSManagedObjectModel())
    }

    /// Writes a file as a producer does.
    func put(_ text: String, _ name: String) throws {
      try Data(text.utf8).write(to: root.appendingPathComponent("file"))
      try FileManager.default.moveItem(
        atPath: root.appendingPathComponent("file").path, toPath: layout.incoming + "/" + name)
    }

    /// Makes a file look as if it had been written a while ago.
    func age(_ name: String) throws {
      try FileManager.default.setAttributes(
        [.modificationDate: Date() - 60], ofItemAtPath: layout.incoming + "/" + name)
    }

    var incoming: [String] { names(layout.incoming) }
    var rejected: [String] { names(layout.rejected) }

    private func names(_ path: String) -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    func reason(_ name: String) -> String {
      (try? String(contentsOfFile: layout.rejected + "/" + name + ".error", encoding: .utf8)) ?? ""
    }
  }

  /// Files that came while no pool ran are taken as they came, whatever their names are.
  @Test func theOldestFilesAreTakenFirst() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let numbers = (0..<50).map { ($0 * 37) % 50 }
    for (age, number) in numbers.enumerated() {
      try place.put(#"{"kind": "k\#(age)"}"#, "\(number).json")
      try FileManager.default.setAttributes(
        [.modificationDate: Date() - Double(1000 - age)], ofItemAtPath: place.layout.incoming + "/\(number).json")
    }
    #expect(await take(nil, try Intake(layout: place.layout, store: store)).jobs == 50)
    let context = store.makeContext(name: "test")
    let kinds = try await context.perform {
      let request = Job.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      return try context.fetch(request).map(\.kind)
    }
    #expect(kinds == (0..<50).map { "k\($0)" })
  }

  /// Everything that a call of the intake reported, added up.
  private func take(_ names: [String]?, _ intake: Intake) async -> Intake.Report {
    let sum = Sum()
    let note: @Sendable (Intake.Report) -> Void = { sum.add($0) }
    if let names { intake.take(names, report: note) } else { intake.takeAll(report: note) }
    // The intake's queue is serial: this waits for all reports.
    #expect(throws: Never.self) { try intake.recover() }
    return sum.report
  }

  /// `@unchecked Sendable`: only touched on the intake's serial queue.
  private final class Sum: @unchecked Sendable {
    private(set) var report = Intake.Report()
    /// Of each report.
    private(set) var jobs: [Int] = []

    func add(_ other: Intake.Report) {
      jobs.append(other.jobs)
      report.files += other.files
      report.jobs += other.jobs
      report.rejected += other.rejected
      report.postponed += other.postponed
      report.failures += other.failures
    }
  }

  private func kinds(_ store: JobStore) throws -> [String] {
    let context = store.makeContext(name: "check")
    return try context.performAndWait { try context.fetch(Job.fetchRequest()).map(\.kind).sorted() }
  }

  private func takenFiles(_ store: JobStore) throws -> Int {
    let context = store.makeContext(name: "check")
    return try context.performAndWait { try store.takenFiles(in: context).count }
  }

  @Test func announcedFilesBecomeJobsAndAreRemoved() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.put("{\"kind\":\"b\"}\n{\"kind\":\"c\"}\n", "2.json")
    // One that is renamed and then closed is announced twice.
    let report = await take(["1.json", "2.json", "gone.json", "1.json"], intake)
    #expect(report.files == 2 && report.jobs == 3 && report.failures.isEmpty && report.postponed == 0)
    #expect(try kinds(store) == ["a", "b", "c"])
    #expect(place.incoming.isEmpty && place.rejected.isEmpty)
  }

  @Test func everythingThatWaitsIsTakenOnceItHasRested() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    for name in ["old.json", ".hidden", "being-written.tmp", "fresh.json"] { try place.put(#"{"kind":"a"}"#, name) }
    for name in ["old.json", ".hidden", "being-written.tmp"] { try place.age(name) }
    let report = await take(nil, intake)
    #expect(report.files == 1 && report.postponed == 1)
    #expect(place.incoming == [".hidden", "being-written.tmp", "fresh.json"])
    let later = await take(["fresh.json", ".hidden", "being-written.tmp"], intake)
    #expect(later.files == 1)
    #expect(try takenFiles(store) == 1)
    // The next look at everything forgets the files that are gone.
    _ = await take(nil, intake)
    #expect(try takenFiles(store) == 0)
  }

  @Test func aBadFileIsRejectedWithItsReasonAndTheOthersAreTaken() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try place.put(#"{"kind":"a","objcts":[]}"#, "bad.json")
    try place.put(#"{"kind":"a"}"#, "good.json")
    try place.put("{}", "bad2.json")
    let report = await take(["bad.json", "good.json", "bad2.json"], intake)
    #expect(report.files == 1 && report.rejected.map(\.name) == ["bad.json", "bad2.json"])
    #expect(place.rejected == ["bad.json", "bad.json.error", "bad2.json", "bad2.json.error"])
    #expect(place.reason("bad.json") == "bad.json: line 1: unknown key \"objcts\"; did you mean \"objects\"?\n")
    #expect(try kinds(store) == ["a"])
  }

  @Test func aSecondBadFileOfTheSameNameReplacesNothing() async throws {
    let place = try Place()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    for _ in 1...2 {
      try place.put("no", "bad.json")
      _ = await take(["bad.json"], intake)
    }
    #expect(place.rejected == ["bad.json", "bad.json.1", "bad.json.1.error", "bad.json.error"])
  }

  @Test func onlyRegularFilesAreRead() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    let secret = place.root.appendingPathComponent("secret.json").path
    try Data(#"{"kind":"secret"}"#.utf8).write(to: URL(fileURLWithPath: secret))
    try FileManager.default.createSymbolicLink(
      atPath: place.layout.incoming + "/link.json", withDestinationPath: secret)
    #expect(mkfifo(place.layout.incoming + "/pipe.json", 0o600) == 0)
    #expect(mkdir(place.layout.incoming + "/directory.json", 0o700) == 0)
    let report = await take(["link.json", "pipe.json", "directory.json"], intake)
    #expect(report.files == 0 && report.rejected.count == 3 && report.failures.isEmpty)
    #expect(place.reason("link.json").contains("symbolic link"))
    #expect(place.reason("pipe.json").contains("not a regular file"))
    #expect(place.reason("directory.json").contains("not a regular file"))
    #expect(FileManager.default.fileExists(atPath: secret))
    #expect(try kinds(store).isEmpty)
  }

  @Test func aNameThatNoJobFileCanHaveIsRejectedAndNotPassedOver() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    let long = String(repeating: "ü", count: 125)
    try place.put(#"{"kind":"a"}"#, long)
    try place.put(#"{"kind":"a"}"#, "still-written.tmp")
    try place.put(#"{"kind":"a"}"#, ".hidden")
    let directory = open(place.layout.incoming, O_RDONLY | O_DIRECTORY)
    defer { close(directory) }
    // `bad`, a byte that is never in UTF-8, `name`
    let bytes = Array("bad".utf8CString.dropLast()) + [CChar(bitPattern: 0xFF)] + Array("name".utf8CString)
    close(openat(directory, bytes, O_WRONLY | O_CREAT, 0o600))
    let report = await take(nil, intake)
    let cut = String(repeating: "ü", count: 60)
    #expect(Set(report.rejected.map(\.name)) == [cut, "bad\u{FFFD}name"])
    #expect(place.reason(cut) == "\(cut): its name has more than 240 bytes\n")
    #expect(place.reason("bad\u{FFFD}name") == "bad\u{FFFD}name: its name is not UTF-8\n")
    #expect(place.incoming == [".hidden", "still-written.tmp"])
    #expect(try kinds(store).isEmpty)
  }

  /// The pool died between the commit and the removal of the file:
  ///
  ///     first process        disk
  ///     commit               jobs, and the file's identity
  ///     (killed)             the file is still there
  ///     second process       must remove it and insert nothing
  @Test func aCrashBetweenCommitAndRemovalMakesNoSecondCopy() async throws {
    let place = try Place()
    defer { place.remove() }
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    do {
      let store = try place.store()
      let directory = try IncomingDirectory(layout: place.layout)
      guard case .jobs(let jobs, let identity) = directory.read("1.json", minimumAge: 0) else {
        Issue.record("the file cannot be read")
        return
      }
      let context = store.makeContext(name: "killed")
      try context.performAndWait {
        try store.insert(jobs, into: context)
        store.insertTakenFile(identity, into: context)
        try context.save()
      }
    }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    let report = await take(nil, intake)
    #expect(report.files == 0 && report.failures.isEmpty)
    #expect(place.incoming.isEmpty)
    #expect(try kinds(store) == ["a"])
    #expect(try takenFiles(store) == 0)
    // The same name, and perhaps the same inode, is a new file.
    try place.put(#"{"kind":"b"}"#, "1.json")
    _ = await take(["1.json"], intake)
    #expect(try kinds(store) == ["a", "b"])
  }

  @Test func filesOfVeryManyJobsAreTakenInSeveralTransactions() async throws {
    let place = try Place()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    let half = Intake.jobsPerTransaction / 2
    for name in ["1.json", "2.json", "3.json"] {
      try place.put(String(repeating: "{\"kind\":\"a\"}\n", count: half), name)
      try place.age(name)
    }
    let sum = Sum()
    intake.takeAll { sum.add($0) }
    #expect(throws: Never.self) { try intake.recover() }
    #expect(sum.jobs == [2 * half, half])
    #expect(place.incoming.isEmpty)
  }

  @Test func manyFilesAreTakenInFewTransactions() async throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    let names = (0..<2500).map { "\($0).json" }
    for name in names {
      try Data(#"{"kind":"a","priority":1}"#.utf8).write(to: URL(fileURLWithPath: place.layout.incoming + "/" + name))
    }
    let report = await take(names, intake)
    #expect(report.files == 2500 && report.jobs == 2500)
    #expect(place.incoming.isEmpty)
  }
}
