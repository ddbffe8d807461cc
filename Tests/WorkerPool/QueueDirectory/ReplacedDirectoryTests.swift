import Foundation
import Testing

@testable import WorkerPool

/// Others may put other directories in the place of those that the pool holds open.
@Suite struct ReplacedDirectoryTests {
  @Test func theDirectoryThatTookThePlaceOfIncomingIsUsed() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try move(place.layout.incoming, to: place.layout.root + "/old")
    try FileManager.default.createDirectory(atPath: place.layout.incoming, withIntermediateDirectories: false)
    try place.put(#"{"kind":"new"}"#, "new.json")
    try place.age("new.json")
    let report = await place.take(nil, intake)
    #expect(report.replaced == [.incoming])
    #expect(report.files == 1 && report.failures.isEmpty)
    #expect(try place.kinds(store) == ["new"])
    #expect(await place.take(nil, intake).replaced == [])
  }

  @Test func nothingIsTakenOutOfADirectoryThatWasMovedAway() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    try place.put(#"{"kind":"old"}"#, "old.json")
    try place.age("old.json")
    try move(place.layout.incoming, to: place.layout.root + "/old")
    // Between the two steps of a replacement nothing is said yet.
    let first = await place.take(nil, intake)
    #expect(first.failures.isEmpty && first.postponed == 1)
    let second = await place.take(nil, intake)
    #expect(second.failures.count == 1 && second.postponed == 1)
    #expect(second.failures.first?.contains("incoming is missing: make the directory again") == true)
    #expect(await place.take(nil, intake).failures.isEmpty)
    // Announced by a process that watched the old directory.
    #expect(await place.take(["old.json"], intake).files == 0)
    #expect(try place.kinds(store).isEmpty)
    try move(place.layout.root + "/old", to: place.layout.incoming)
    #expect(await place.take(nil, intake).files == 1)
  }

  @Test func thePoolMakesItsOwnDirectoriesAgain() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store)
    for path in [place.layout.taken, place.layout.rejected] { try FileManager.default.removeItem(atPath: path) }
    let report = await place.take(nil, intake)
    #expect(report.replaced == [.taken, .rejected] && report.failures.isEmpty)
    var status = stat()
    #expect(stat(place.layout.taken, &status) == 0 && status.st_mode & 0o777 == 0o700)
    try place.put(#"{"kind":"a"}"#, "good.json")
    try place.put("no", "bad.json")
    let next = await place.take(["good.json", "bad.json"], intake)
    #expect(next.files == 1 && next.rejected.count == 1 && next.failures.isEmpty)
    #expect(place.rejected == ["bad.json", "bad.json.error"])
  }

  @Test func whatLiesInTakenIsReadThoughTheDirectoryWasReplaced() async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    try place.put(#"{"kind":"a"}"#, "1.json")
    try place.age("1.json")
    _ = try IncomingDirectory(layout: place.layout).take("1.json", minimumAge: 0)
    let intake = try Intake(layout: place.layout, store: store)
    try intake.recover()
    try move(place.layout.taken, to: place.layout.root + "/old")
    let report = await place.take(nil, intake)
    #expect(report.files == 1 && report.replaced == [.taken])
    #expect(try place.kinds(store) == ["a"])
  }

  /// Linux reports a failed write once: a later success proves nothing.
  @Test func aDirectoryThatCouldNotBeSynchronisedIsNotBelievedLater() throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let directory = try OpenDirectory(place.layout.taken)
    try directory.synchronize()
    let (copy, null) = (dup(directory.descriptor), open("/proc/self/status", O_RDONLY | O_CLOEXEC))
    defer {
      close(copy)
      close(null)
    }
    // A file that cannot be synchronised stands in for a disk that fails once.
    #expect(dup2(null, directory.descriptor) >= 0)
    #expect(throws: (any Error).self) { try directory.synchronize() }
    #expect(dup2(copy, directory.descriptor) >= 0)
    #expect(fsync(directory.descriptor) == 0)
    #expect(throws: (any Error).self) { try directory.synchronize() }
  }

  private func move(_ one: String, to other: String) throws {
    try FileManager.default.moveItem(atPath: one, toPath: other)
  }
}
