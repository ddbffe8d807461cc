import CoreData
import Foundation
import Jobs
import Testing

@testable import WorkerPool

/// What a pool finds that an earlier one left half done.
@Suite struct TakenFileTests {
  /// The pool died between the rename and the commit:
  ///
  ///     first process        disk
  ///     rename               the file is in taken/, unknown to the store
  ///     (killed)
  ///     second process       must take it
  @Test func aFileThatWasRenamedAndNotCommittedIsTaken() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    _ = try place.rename("1.json")
    #expect(place.incoming.isEmpty && place.taken.count == 1)
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    let report = await place.take(nil, intake)
    #expect(report.files == 1 && report.failures.isEmpty)
    #expect(try place.kinds(store) == ["a"])
    #expect(place.taken.isEmpty)
  }

  /// The pool died between the commit and the removal of the file:
  ///
  ///     first process        disk
  ///     rename, commit       jobs, and the file's private name
  ///     (killed)             the file is still in taken/
  ///     second process       must remove it and insert nothing
  @Test func aCrashBetweenCommitAndRemovalMakesNoSecondCopy() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    try place.commit(try place.rename("1.json"), store)
    // The same name is a new file, and so is the same file under another name.
    try place.put(#"{"kind":"b"}"#, "1.json")
    try place.age("1.json")
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    let report = await place.take(nil, intake)
    #expect(report.files == 1 && report.failures.isEmpty)
    #expect(try place.kinds(store) == ["a", "b"])
    #expect(place.incoming.isEmpty && place.taken.isEmpty)
    _ = await place.take(nil, intake)
    #expect(try place.takenFiles(store) == 0)
  }

  /// The answer to a commit was lost:
  ///
  ///     intake               store
  ///     commit               jobs, and the file's private name
  ///     (an error)
  ///     tries again          must remove the file and insert nothing
  @Test func aCommitThatSucceededThoughItWasReportedAsFailedMakesNoSecondCopy() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    let file = try place.rename("1.json")
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    try place.commit(file, store)
    let report = await place.take(nil, intake)
    #expect(report.jobs == 0 && report.failures.isEmpty)
    #expect(try place.kinds(store) == ["a"])
    #expect(place.taken.isEmpty)
  }

  /// The pool died between the removal of the file and the deletion of its row.
  @Test func theRowOfAFileThatIsGoneIsForgotten() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    let file = try place.rename("1.json")
    try place.commit(file, store)
    try file.remove()
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    _ = await place.take(nil, intake)
    #expect(try place.takenFiles(store) == 0)
    #expect(try place.kinds(store) == ["a"])
  }
}

/// Names in `taken/`.
@Suite struct PrivateNameTests {
  @Test func aPrivateNameKeepsTheProducersWholeAndHasRoom() {
    let name = String(repeating: "ü", count: IncomingDirectory.longestName / 2)
    var names = TakenFileNames(avoiding: [])
    let one = names.next(for: name)
    #expect(one != names.next(for: name))
    #expect(one.utf8.count <= 255)
    #expect(TakenFileNames.original(one) == name)
    // A user put it there by hand.
    #expect(TakenFileNames.original("jobs.json") == "jobs.json")
  }

  @Test func namesOfAnotherStartAreOtherNames() {
    var first = TakenFileNames(avoiding: [])
    let names = (0..<1000).map { first.next(for: "\($0)") }
    var second = TakenFileNames(avoiding: names)
    #expect(Set(names.map { $0.prefix(8) }).isDisjoint(with: [second.next(for: "a").prefix(8)]))
  }
}
