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

  /// An earlier version noted name, inode, time and size, and the device, whose number changes when a file system is
  /// mounted again.
  @Test func aFileThatAnEarlierVersionTookIsNotTakenAgainWhateverItsDevice() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    for name in ["taken.json", "changed.json"] {
      try place.put(#"{"kind":"new"}"#, name)
      try place.age(name)
      var status = stat()
      #expect(stat(place.layout.incoming + "/" + name, &status) == 0)
      try noteAsBefore(name, status, inode: name == "taken.json" ? 0 : 1, store)
    }
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    let report = await place.take(nil, intake)
    #expect(report.files == 1 && report.failures.isEmpty)
    #expect(try place.kinds(store) == ["new"])
    #expect(place.incoming.isEmpty && place.taken.isEmpty)
    _ = await place.take(nil, intake)
    #expect(try place.takenFiles(store) == 0)
  }

  /// - Parameter inode: what the inode of the row differs by.
  private func noteAsBefore(_ name: String, _ status: stat, inode: Int64, _ store: JobStore) throws {
    let context = store.makeContext(name: "earlier")
    try context.performAndWait {
      let row = NSEntityDescription.insertNewObject(forEntityName: "PoolFile", into: context)
      row.setValue(name, forKey: "name")
      row.setValue(NSNumber(value: Int64(status.st_dev) + 7), forKey: "device")
      row.setValue(NSNumber(value: Int64(status.st_ino) + inode), forKey: "inode")
      row.setValue(NSNumber(value: OpenDirectory.nanoseconds(status.st_mtim)), forKey: "modified")
      row.setValue(NSNumber(value: Int64(status.st_size)), forKey: "size")
      try context.save()
    }
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
    // Somebody put it there by hand.
    #expect(TakenFileNames.original("jobs.json") == "jobs.json")
  }

  @Test func namesOfAnotherStartAreOtherNames() {
    var first = TakenFileNames(avoiding: [])
    let names = (0..<1000).map { first.next(for: "\($0)") }
    var second = TakenFileNames(avoiding: names)
    #expect(Set(names.map { $0.prefix(8) }).isDisjoint(with: [second.next(for: "a").prefix(8)]))
  }
}
