import CoreData
import Foundation
import Jobs
import Synchronization
import Testing

@testable import WorkerPool

@Suite struct IntakeTests {
  /// Files that came while no pool ran are taken as they came, whatever their names are.
  @Test func theOldestFilesAreTakenFirst() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let numbers = (0..<50).map { ($0 * 37) % 50 }
    for (age, number) in numbers.enumerated() {
      try place.put(#"{"kind": "k\#(age)"}"#, "\(number).json")
      try FileManager.default.setAttributes(
        [.modificationDate: Date() - Double(1000 - age)], ofItemAtPath: place.layout.incoming + "/\(number).json")
    }
    #expect(await place.take(nil, try Intake(layout: place.layout, store: store)).jobs == 50)
    let context = store.makeContext(name: "test")
    let kinds = try await context.perform {
      let request = Job.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      return try context.fetch(request).map(\.kind)
    }
    #expect(kinds == (0..<50).map { "k\($0)" })
  }

  @Test func announcedFilesBecomeJobsAndAreRemoved() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.put("{\"kind\":\"b\"}\n{\"kind\":\"c\"}\n", "2.json")
    // One that is renamed and then closed is announced twice.
    let report = await place.take(["1.json", "2.json", "gone.json", "1.json"], intake)
    #expect(report.files == 2 && report.jobs == 3 && report.failures.isEmpty && report.postponed == 0)
    #expect(try place.kinds(store) == ["a", "b", "c"])
    #expect(place.incoming.isEmpty && place.rejected.isEmpty)
  }

  /// A file that `submit` had not renamed when it was killed has its name, and nobody reads it.
  @Test func whatAKilledProducerLeftHalfWrittenIsRemovedAfterAnHour() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    let names = [".a.json.12.tmp", ".b.json.12.1.tmp", ".young.json.12.tmp", ".hidden", "upload.tmp", ".c.json.tmp"]
    for name in names { try place.put("{", name) }
    for name in names where !name.contains("young") { try place.age(name, by: IncomingDirectory.abandonedAge + 1) }
    try place.age(".young.json.12.tmp", by: IncomingDirectory.abandonedAge - 600)
    _ = await place.take(nil, intake)
    // The others are of programs whose ways the pool does not know.
    #expect(place.incoming == [".c.json.tmp", ".hidden", ".young.json.12.tmp", "upload.tmp"])
  }

  @Test func everythingThatWaitsIsTakenOnceItHasRested() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    for name in ["old.json", ".hidden", "being-written.tmp", "fresh.json"] { try place.put(#"{"kind":"a"}"#, name) }
    for name in ["old.json", ".hidden", "being-written.tmp"] { try place.age(name) }
    let report = await place.take(nil, intake)
    #expect(report.files == 1 && report.postponed == 1)
    #expect(place.incoming == [".hidden", "being-written.tmp", "fresh.json"])
    let later = await place.take(["fresh.json", ".hidden", "being-written.tmp"], intake)
    #expect(later.files == 1)
    #expect(try place.takenFiles(store) == 1)
    #expect(place.taken.isEmpty)
    // The next scan forgets the files that are gone.
    _ = await place.take(nil, intake)
    #expect(try place.takenFiles(store) == 0)
  }

  @Test func aBadFileIsRejectedWithItsReasonAndTheOthersAreTaken() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try place.put(#"{"kind":"a","objcts":[]}"#, "bad.json")
    try place.put(#"{"kind":"a"}"#, "good.json")
    try place.put("{}", "bad2.json")
    let report = await place.take(["bad.json", "good.json", "bad2.json"], intake)
    #expect(report.files == 1 && report.rejected.map(\.name) == ["bad.json", "bad2.json"])
    #expect(place.rejected == ["bad.json", "bad.json.error", "bad2.json", "bad2.json.error"])
    #expect(place.reason("bad.json") == "bad.json: line 1: unknown key \"objcts\"; did you mean \"objects\"?\n")
    #expect(try place.kinds(store) == ["a"])
  }

  @Test func aSecondBadFileOfTheSameNameReplacesNothing() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    for _ in 1...2 {
      try place.put("no", "bad.json")
      _ = await place.take(["bad.json"], intake)
    }
    #expect(place.rejected == ["bad.json", "bad.json.1", "bad.json.1.error", "bad.json.error"])
  }

  @Test func onlyRegularFilesAreRead() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    let secret = place.root.appendingPathComponent("secret.json").path
    try Data(#"{"kind":"secret"}"#.utf8).write(to: URL(fileURLWithPath: secret))
    try FileManager.default.createSymbolicLink(
      atPath: place.layout.incoming + "/link.json", withDestinationPath: secret)
    #expect(mkfifo(place.layout.incoming + "/pipe.json", 0o600) == 0)
    #expect(mkdir(place.layout.incoming + "/directory.json", 0o700) == 0)
    let report = await place.take(["link.json", "pipe.json", "directory.json"], intake)
    #expect(report.files == 0 && report.rejected.count == 3 && report.failures.isEmpty)
    #expect(place.reason("link.json").contains("symbolic link"))
    #expect(place.reason("pipe.json").contains("not a regular file"))
    #expect(place.reason("directory.json").contains("not a regular file"))
    #expect(FileManager.default.fileExists(atPath: secret))
    #expect(try place.kinds(store).isEmpty)
  }

  @Test func aNameThatNoJobFileCanHaveIsRejectedAndNotPassedOver() async throws {
    let place = try IntakePlace()
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
    let report = await place.take(nil, intake)
    let cut = String(repeating: "ü", count: 60)
    #expect(Set(report.rejected.map(\.name)) == [cut, "bad\u{FFFD}name"])
    #expect(place.reason(cut) == "\(cut): its name has more than 240 bytes\n")
    #expect(place.reason("bad\u{FFFD}name") == "bad\u{FFFD}name: its name is not UTF-8\n")
    #expect(place.incoming == [".hidden", "still-written.tmp"])
    #expect(try place.kinds(store).isEmpty)
  }

  @Test func filesOfVeryManyJobsAreTakenInSeveralTransactions() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    let half = IntakeBatch.mostJobs / 2
    for name in ["1.json", "2.json", "3.json"] {
      try place.put(String(repeating: "{\"kind\":\"a\"}\n", count: half), name)
      try place.age(name)
    }
    let reports = await place.reports(nil, intake)
    #expect(reports.map(\.jobs).filter { $0 > 0 } == [2 * half, half])
    #expect(place.incoming.isEmpty && place.taken.isEmpty)
  }

  /// Parameters of many jobs do not pile up in memory: a transaction ends with the file that reaches its bound.
  @Test func filesOfVeryManyBytesAreTakenInSeveralTransactions() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    let text = String(repeating: "x", count: IntakeBatch.mostBytes / 4)
    for number in 0..<12 { try place.put(#"{"kind":"a","parameters":{"text":"\#(text)"}}"#, "\(number).json") }
    let reports = await place.reports((0..<12).map { "\($0).json" }, intake)
    #expect(reports.map(\.jobs) == [4, 4, 4])
  }

  @Test func manyFilesAreTakenInFewTransactions() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    let names = (0..<2500).map { "\($0).json" }
    for name in names {
      try Data(#"{"kind":"a","priority":1}"#.utf8).write(to: URL(fileURLWithPath: place.layout.incoming + "/" + name))
    }
    let report = await place.take(names, intake)
    #expect(report.files == 2500 && report.jobs == 2500)
    #expect(place.incoming.isEmpty && place.taken.isEmpty)
  }

  /// However often a rescan is asked for while one is under way or hangs, one more follows.
  @Test func rescansDoNotQueueBehindOneThatHangs() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let intake = try Intake(layout: place.layout, store: try place.store())
    let scans = Mutex(0)
    let (hangs, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    intake.start { _ in
      if scans.withLock({
        $0 += 1; return $0
      }) > 1 {
        return
      }
      hangs.signal()
      goesOn.wait()
    }
    intake.takeAll()
    hangs.wait()
    for _ in 0..<1000 { intake.takeAll() }
    goesOn.signal()
    await place.settle(intake)
    #expect(scans.withLock { $0 } == 2)
  }
}
