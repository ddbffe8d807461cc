import CoreData
import Foundation
import LibraryStore
import Testing

@testable import StoreTools

/// Commits reach the disk, and only those that did are reported as durable.
@Suite struct WALSynchronizerTests {
  /// Linux reports a failed write once, and a second fsync succeeds though the data is lost:
  ///
  ///     synchronizer               kernel
  ///     fsync                      EIO, and the pages count as clean
  ///     fsync                      success: there is nothing to write
  @Test func afterAFailureTheLogIsWrittenAgainBeforeItIsBelieved() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    var events: [String] = []
    var failures = 1
    var calls = WALSynchronizer.Calls()
    calls.synchronize = { descriptor in
      events.append("fsync")
      failures -= 1
      if failures < 0 { return fdatasync(descriptor) }
      errno = EIO
      return -1
    }
    calls.write = { descriptor, bytes, count, offset in
      events.append("write \(offset)+\(count)")
      return pwrite(descriptor, bytes, count, offset)
    }
    let log = store.url.path + "-wal"
    let before = try Data(contentsOf: URL(fileURLWithPath: log))
    try #require(!before.isEmpty && before.count < 1 << 20)
    let synchronizer = try WALSynchronizer(url: store.url, writeTurn: nil, calls: calls)
    do {
      try synchronizer.synchronize()
      Issue.record("the failure is not reported")
    } catch {
      #expect(error.localizedDescription.contains("store.sqlite-wal cannot be synchronised"))
    }
    #expect(events == ["fsync"])
    try synchronizer.synchronize()
    #expect(events == ["fsync", "write 0+\(before.count)", "fsync"])
    try synchronizer.synchronize()
    #expect(events == ["fsync", "write 0+\(before.count)", "fsync", "fsync"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == before)
    #expect(try StoreMaintenance(url: store.url).problems() == [])
  }

  /// The previous process may have ended because of such a failure.
  @Test func aLogThatIsNotTrustedIsWrittenAgain() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    var events: [String] = []
    var calls = WALSynchronizer.Calls()
    calls.synchronize = {
      events.append("fsync")
      return fdatasync($0)
    }
    calls.write = {
      events.append("write")
      return pwrite($0, $1, $2, $3)
    }
    let synchronizer = try WALSynchronizer(url: store.url, writeTurn: nil, calls: calls)
    synchronizer.distrust()
    try synchronizer.synchronize()
    #expect(events == ["write", "fsync"])
  }

  /// SQLite keeps the log beside the file to which a symbolic link leads.
  @Test func theLogOfALinkedStoreIsFound() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    let link = store.url.deletingLastPathComponent().appendingPathComponent("links")
    try FileManager.default.createDirectory(at: link, withIntermediateDirectories: false)
    let path = link.appendingPathComponent("store.sqlite")
    try FileManager.default.createSymbolicLink(at: path, withDestinationURL: store.url)
    try WALSynchronizer(url: path).synchronize()
  }

  /// The log of a store that replaced the open one says nothing about commits to the open one.
  @Test func theLogOfAnotherStoreIsNotTakenForThisOnes() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    let synchronizer = try WALSynchronizer(url: store.url)
    try synchronizer.synchronize()
    let log = store.url.path + "-wal"
    try FileManager.default.moveItem(atPath: log, toPath: log + ".old")
    #expect(throws: NSError.self) { try synchronizer.synchronize() }
    try Data().write(to: URL(fileURLWithPath: log))
    do {
      try synchronizer.synchronize()
      Issue.record("another log was synchronised")
    } catch {
      #expect(error.localizedDescription.contains("another program replaced the store's files"))
    }
    try FileManager.default.removeItem(atPath: log)
    try FileManager.default.moveItem(atPath: log + ".old", toPath: log)
    try synchronizer.synchronize()
  }
}
