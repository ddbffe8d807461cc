import CoreData
import Foundation
import Jobs
import Testing

@testable import WorkerPool

/// Pools with different queue directories use one store, one after the other. The first is always killed at the same
/// point, between the commit of a file's jobs and the removal of the file:
///
///     pool on queue        disk                           pool on another queue
///     rename, commit       jobs, and the file's note
///     (killed)             the file is in taken/
///                                                         must leave the note
///     again                must remove the file and insert nothing
@Suite struct QueuesInTurnTests {
  let place: IntakePlace
  let store: JobStore

  init() throws {
    place = try IntakePlace()
    store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    try place.commit(try place.rename("1.json"), store)
  }

  /// A pool starts on the directory, takes what is there, and ends in good order.
  private func run(on layout: QueueLayout) async throws {
    try layout.create()
    let intake = try Intake(layout: layout, store: store)
    try intake.recover()
    let report = await place.take(nil, intake)
    #expect(report.failures.isEmpty)
    await withCheckedContinuation { done in intake.finish { done.resume() } }
    #expect(place.names(layout.taken).isEmpty)
  }

  private func expectOneJob(notes: Int) throws {
    #expect(try place.kinds(store) == ["a"])
    #expect(try place.takenFiles(store) == notes)
  }

  @Test func aPoolOnAnotherQueueForgetsNoFileOfThisOne() async throws {
    defer { place.remove() }
    try await run(on: place.layout("other"))
    try expectOneJob(notes: 1)
    try await run(on: place.layout)
    try expectOneJob(notes: 0)
  }

  /// The pool makes the directory that it does not find, as an empty mount point.
  @Test func aStartWhileTheQueuesMountIsMissingForgetsNothing() async throws {
    defer { place.remove() }
    let away = place.layout("away").root
    try FileManager.default.moveItem(atPath: place.layout.root, toPath: away)
    try await run(on: place.layout)
    try expectOneJob(notes: 1)
    try FileManager.default.removeItem(atPath: place.layout.root)
    try FileManager.default.moveItem(atPath: away, toPath: place.layout.root)
    try await run(on: place.layout)
    try expectOneJob(notes: 0)
  }

  /// Only `taken/` is another file system's, or is deleted, while the rest of the queue directory stays.
  @Test func aStartWhileTheMountOfTakenFilesIsMissingForgetsNothing() async throws {
    defer { place.remove() }
    try await run(on: place.layout("other"))
    let away = place.layout.root + "/away"
    try FileManager.default.moveItem(atPath: place.layout.taken, toPath: away)
    try await run(on: place.layout)
    try expectOneJob(notes: 1)
    try FileManager.default.removeItem(atPath: place.layout.taken)
    try FileManager.default.moveItem(atPath: away, toPath: place.layout.taken)
    try await run(on: place.layout)
    try expectOneJob(notes: 0)
  }

  /// Both have the file; neither knows whether the other still has it.
  @Test(arguments: [["queue", "copy", "queue"], ["copy", "queue", "copy"]])
  func aFileInACopyOfTheQueueIsNotTakenAgain(order: [String]) async throws {
    defer { place.remove() }
    try FileManager.default.copyItem(atPath: place.layout.root, toPath: place.layout("copy").root)
    // The copy's pool may never have run, or have ended before the copy was made.
    try await run(on: place.layout(order[0]))
    #expect(try place.kinds(store) == ["a"])
    if order[0] == "queue" {
      // The owner has forgotten the file while a copy of it is left: that is a file which came anew.
      try expectOneJob(notes: 0)
      return
    }
    try expectOneJob(notes: 1)
    for queue in order.dropFirst() { try await run(on: place.layout(queue)) }
    try expectOneJob(notes: 0)
  }

  @Test func aQueueThatWasRestoredFromABackupTakesNoFileAgain() async throws {
    defer { place.remove() }
    let backup = place.layout("backup").root
    try FileManager.default.copyItem(atPath: place.layout.root, toPath: backup)
    try FileManager.default.removeItem(atPath: place.layout.root)
    try FileManager.default.copyItem(atPath: backup, toPath: place.layout.root)
    try await run(on: place.layout)
    #expect(try place.kinds(store) == ["a"])
  }

  /// A directory that is moved is the same one.
  @Test func aQueueThatWasMovedForgetsItsFiles() async throws {
    defer { place.remove() }
    try FileManager.default.moveItem(atPath: place.layout.root, toPath: place.layout("moved").root)
    try await run(on: place.layout("moved"))
    try expectOneJob(notes: 0)
  }

  /// An identity that was made must outlast the pool, and be written anew where it cannot be read as one.
  @Test func theIdentityOfADirectoryStaysUnlessItsFileIsDamaged() throws {
    defer { place.remove() }
    func identity() throws -> String { try OpenDirectory(place.layout.taken).identity() }
    let first = try identity()
    #expect(first.count == 32)
    #expect(try identity() == first)
    let file = URL(fileURLWithPath: place.layout.taken + "/.identity")
    try Data("not an identity".utf8).write(to: file)
    let second = try identity()
    #expect(second != first)
    #expect(try identity() == second)
  }
}
