import Foundation
import Glibc
import Jobs
import LinuxSystem
import Synchronization
import Testing

@testable import StoreTools
@testable import WorkerPool

/// Files go only after their jobs are on disk, those of many transactions together.
@Suite struct TakenFileRemovalTests {
  /// What happened, in its order.
  private final class Story: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private let place: IntakePlace
  private let store: JobStore
  private let story = Story()

  init() throws {
    place = try IntakePlace()
    store = try place.store()
  }

  /// - Parameter failures: how many of the first syncs of the log fail.
  private func makeRemoval(failures: Int = 0) throws -> TakenFileRemoval {
    let failuresLeft = Mutex(failures)
    let calls = WALSynchronizer.Calls(synchronize: { [story, place] descriptor in
      story.add("sync of the log, files: \(place.taken.count)")
      let fails = failuresLeft.withLock { failuresLeft in
        failuresLeft -= 1
        return failuresLeft >= 0
      }
      guard fails else { return fdatasync(descriptor) }
      errno = EIO
      return -1
    })
    let removal = TakenFileRemoval(
      wal: try WALSynchronizer(url: store.url, writeTurn: nil, calls: calls), store: store)
    removal.start { [story] in
      story.add("report: \($0.postponed) postponed")
    } forgetting: { [story, place] rows in
      story.add("forget \(rows.count), files: \(place.taken.count)")
    }
    return removal
  }

  /// Takes a file as the intake does, and commits its job together with its name.
  private func takeFile(_ name: String) throws -> TakenFileRemoval.Item {
    try place.put(#"{"kind":"a"}"#, name)
    guard case .taken(let file) = try IncomingDirectory(layout: place.layout).take(name, minimumAge: 0) else {
      throw CocoaError(.fileNoSuchFile)
    }
    let context = store.makeContext(name: "intake")
    let key = try file.key()
    let row = try context.performAndWait {
      let row = store.insertTakenFile(key, into: context)
      try context.save()
      return row.objectID
    }
    return .init(file: file, row: row)
  }

  private func settle(_ removal: TakenFileRemoval) async {
    await withCheckedContinuation { done in removal.afterAll { done.resume() } }
  }

  ///     intake                    removal
  ///     commits three times
  ///                               syncs the log once, with all files there
  ///                               removes them
  ///                               forgets them, when they are gone
  @Test func theFilesOfSeveralTransactionsShareOneSyncThatComesBeforeTheirEnd() async throws {
    defer { place.remove() }
    let removal = try makeRemoval()
    let items = try ["1.json", "2.json", "3.json"].map(takeFile)
    for item in items { removal.add([item]) }
    await settle(removal)
    #expect(story.all == ["sync of the log, files: 3"])
    #expect(place.taken.isEmpty)
    removal.flush()
    await settle(removal)
    #expect(story.all == ["sync of the log, files: 3", "forget 3, files: 0"])
  }

  ///     intake                    disk                        removal
  ///     commits
  ///                               fails to sync the log
  ///                                                           keeps the file and its row
  ///     commits the next
  ///                               syncs it
  ///                                                           removes both
  @Test func aFileWhoseJobsAreNotOnDiskStays() async throws {
    defer { place.remove() }
    let removal = try makeRemoval(failures: 1)
    removal.add([try takeFile("1.json")])
    await settle(removal)
    #expect(place.taken.count == 1)
    #expect(story.all == ["sync of the log, files: 1", "report: 1 postponed"])
    removal.add([try takeFile("2.json")])
    await settle(removal)
    #expect(place.taken.isEmpty)
    removal.flush()
    await settle(removal)
    #expect(story.all.dropFirst(2) == ["sync of the log, files: 2", "forget 2, files: 0"])
  }

  /// The removal waits a bounded time for further files.
  @Test(.timeLimit(.minutes(20))) func filesGoWithoutBeingAskedFor() async throws {
    defer { place.remove() }
    let watch = try FileEvents()
    try watch.add(place.layout.taken, mask: UInt32(IN_DELETE))
    let removal = try makeRemoval()
    removal.add([try takeFile("1.json")])
    await end(watch)
    #expect(place.taken.isEmpty)
    #expect(story.all == ["sync of the log, files: 1"])
  }

  /// Waits for the end of a file in a directory that is watched.
  private func end(_ watch: FileEvents) async {
    let descriptor = watch.descriptor
    await withCheckedContinuation { done in
      Thread.detachNewThread {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, -1) < 0 {}
        done.resume()
      }
    }
  }

  /// A lone file goes soon; the files of a trickle go together, once a second.
  @Test func removalsOfATrickleKeepTheirDistance() {
    #expect(TakenFileRemoval.delay(sinceSmallRemoval: .infinity) == TakenFileRemoval.pause)
    #expect(TakenFileRemoval.delay(sinceSmallRemoval: 60) == TakenFileRemoval.pause)
    #expect(TakenFileRemoval.delay(sinceSmallRemoval: 0) == TakenFileRemoval.spacing)
    #expect(TakenFileRemoval.delay(sinceSmallRemoval: 0.25) == 0.75)
  }
}
