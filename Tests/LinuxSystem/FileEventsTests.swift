import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing

/// The tests that count events watch for new files. A close would be told later while a child of another test has a
/// copy of the descriptor, before it runs its program.
@Suite struct FileEventsTests {
  private let directory: URL

  init() throws {
    directory = temporaryURL("events")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  private func write(_ name: String) throws {
    try Data("text".utf8).write(to: directory.appendingPathComponent(name))
  }

  private func remove() { try? FileManager.default.removeItem(at: directory) }

  @Test func aFileThatComesIsToldWithItsNameAndWhereItCame() throws {
    defer { remove() }
    let events = try FileEvents()
    let watch = try events.add(directory.path, mask: UInt32(IN_CREATE))
    #expect(events.take().isEmpty, "nothing waits, and nobody is kept")
    try write("one")
    try write("another-with-a-longer-name")
    let told = events.take()
    #expect(told.compactMap(\.name) == ["one", "another-with-a-longer-name"])
    let creation = FileEvents.mask(IN_CREATE)
    #expect(told.allSatisfy { $0.watch == watch && $0.mask == creation && !$0.wereLost })
    #expect(events.take().isEmpty)
  }

  /// A source that never ends keeps no loop: each call takes one buffer.
  @Test func eventsThatDoNotFitWaitForTheNextCall() throws {
    defer { remove() }
    let events = try FileEvents(capacity: 300)
    try events.add(directory.path, mask: UInt32(IN_CREATE))
    for number in 0..<50 { try write("file-\(number)") }
    let first = events.take().count
    #expect(first > 0 && first < 50)
    #expect(events.takeAll().count == 50 - first)
  }

  @Test func whatHappensToTheFileItselfHasNoName() throws {
    defer { remove() }
    try write("file")
    let path = directory.appendingPathComponent("file").path
    let events = try FileEvents()
    let masks = [IN_MODIFY, IN_DELETE_SELF, IN_IGNORED].map { FileEvents.mask($0) }
    try events.add(path, mask: FileEvents.mask(IN_MODIFY, IN_DELETE_SELF))
    let descriptor = open(path, O_WRONLY)
    #expect(Glibc.write(descriptor, "x", 1) == 1)
    close(descriptor)
    unlink(path)
    var told: [FileEvents.Event] = []
    // The file is gone when no process has it open: a child of another test has a copy of the descriptor until it runs
    // its program.
    while told.last?.mask != masks.last {
      var ready = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
      try #require(poll(&ready, 1, 60_000) == 1, "\(told)")
      told += events.takeAll()
    }
    #expect(told.map(\.name).allSatisfy { $0 == nil })
    #expect(told.map(\.mask) == masks)
  }

  @Test func aWatchThatIsRemovedTellsNothingMore() throws {
    defer { remove() }
    let events = try FileEvents()
    let watch = try events.add(directory.path, mask: UInt32(IN_CLOSE_WRITE))
    events.remove(watch)
    try write("late")
    #expect(events.takeAll().map(\.mask) == [UInt32(IN_IGNORED)])
  }

  @Test func whatIsNotThereCannotBeWatched() throws {
    remove()
    let events = try FileEvents()
    #expect(throws: SystemCallError("inotify_add_watch", path: directory.path, number: ENOENT)) {
      try events.add(directory.path, mask: UInt32(IN_CLOSE_WRITE))
    }
  }
}
