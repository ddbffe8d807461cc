import CoreData
import LibraryStore
import LinuxSystem
import Synchronization
import TestFiles
import Testing

@testable import StoreTools

/// The write-ahead log is copied into the file and stays short, no matter which processes write and read.
@Suite struct WALCheckpointerTests {
  /// A store whose writers take turns and leave checkpoints to others.
  private struct Place {
    let store: TemporaryStore
    let options: [AnyHashable: Any]
    var turn: String { store.folder.path + "/turn" }

    init() throws {
      let turn = temporaryURL("turn").path
      defer { unlink(turn) }
      // The folder is unknown until the store exists, so the first writer takes no turn.
      store = try TemporaryStore(options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0"]])
      options = [
        NSSQLitePragmasOption: ["wal_autocheckpoint": "0", "synchronous": "OFF"],
        NSPersistentStoreWriteTurnOption: store.folder.path + "/turn",
      ]
    }

    func writer() throws -> Writer { try Writer(store.otherCoordinator(options)) }

    /// Small limits, so that a test need not write much.
    func checkpointer(copied: Int = 256 << 10, length: Int = 512 << 10, file: Int = 1 << 20) throws -> WALCheckpointer {
      var limits = WALCheckpointer.Limits()
      limits.copied = copied
      limits.length = length
      limits.file = file
      return try WALCheckpointer(url: store.url, writeTurn: turn, limits: limits)
    }

    var logBytes: Int {
      var status = stat()
      return stat(store.url.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }
  }

  /// `@unchecked Sendable`: used by one thread at a time.
  private final class Writer: @unchecked Sendable {
    private let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)

    init(_ coordinator: NSPersistentStoreCoordinator) throws { context.persistentStoreCoordinator = coordinator }

    /// Writes a little more than half a mebibyte.
    func save() throws {
      try context.performAndWait {
        for _ in 0..<8 { context.make("Book", ["title": "b", "cover": Data(count: 64 << 10)]) }
        try context.save()
        context.reset()
      }
    }
  }

  @Test func theLogIsCopiedAndThenBegunAnew() throws {
    let place = try Place()
    let writer = try place.writer()
    for _ in 0..<4 { try writer.save() }
    #expect(place.logBytes > 2 << 20, "nobody else checkpoints")
    // A log file above the limit is truncated.
    #expect(try place.checkpointer().checkpoint(.whileWriting) == WALCheckpointer.Outcome())
    #expect(place.logBytes == 0)
    // A log file below the limit is overwritten.
    for _ in 0..<4 { try writer.save() }
    let long = place.logBytes
    let checkpointer = try place.checkpointer(file: 64 << 20)
    #expect(try checkpointer.checkpoint(.whileWriting) == WALCheckpointer.Outcome())
    #expect(place.logBytes == long)
    for _ in 0..<4 { try writer.save() }
    #expect(place.logBytes < long * 3 / 2)
    #expect(try checkpointer.checkpoint(.completely) == WALCheckpointer.Outcome())
    #expect(place.logBytes == 0)
  }

  /// A checkpoint copies the frames that existed when it began. Writers add more meanwhile, so the log never starts
  /// over by itself.
  ///
  ///     writers                         checkpointer
  ///     write without a pause           copies, is never done
  ///                                     takes the turn, copies the rest
  ///     begin the log anew
  @Test(.timeLimit(.minutes(20))) func theLogStaysShortWhileWritersNeverPause() throws {
    let place = try Place()
    let isOver = Atomic<Bool>(false)
    let writers = try (0..<3).map { _ in try place.writer() }
    let group = DispatchGroup()
    let problems = Mutex<[String]>([])
    let saves = Atomic<Int>(0)
    let saved = DispatchSemaphore(value: 0)
    for writer in writers {
      DispatchQueue.global().async(group: group) {
        do {
          while !isOver.load(ordering: .relaxed) {
            try writer.save()
            saves.add(1, ordering: .relaxed)
            saved.signal()
          }
        } catch {
          problems.withLock { $0.append("\(error)") }
          isOver.store(true, ordering: .relaxed)
          saved.signal()
        }
      }
    }
    let checkpointer = try place.checkpointer()
    var longest = 0
    while saves.load(ordering: .relaxed) < 200, !isOver.load(ordering: .relaxed) {
      try checkpointer.checkpoint(.whileWriting)
      longest = max(longest, place.logBytes)
      // There is something to copy after the next save.
      while saved.wait(timeout: .now()) == .success {}
      if !isOver.load(ordering: .relaxed) { saved.wait() }
    }
    isOver.store(true, ordering: .relaxed)
    group.wait()
    #expect(problems.withLock { $0 } == [])
    // More than 100 MiB were written.
    #expect(longest < 32 << 20, "\(longest >> 20) MiB")
    #expect(try checkpointer.checkpoint(.inPause).isTooLong == false)
    #expect(place.logBytes < 4 << 20)
  }

  /// While a reader holds an older state the checkpointer can do nothing, and keeps nobody waiting.
  ///
  ///     reader              writers                         checkpointer
  ///     reads
  ///                         write
  ///                                                         copies what the reader sees, finds its place
  ///                         one has the turn for long
  ///                                                         does not ask for the turn
  ///     lets go
  ///                                                         copies all, cuts the file off
  @Test(.timeLimit(.minutes(20))) func aLongReaderIsFoundAndTheLogIsCutOffAfterIt() throws {
    let place = try Place()
    let (writer, checkpointer) = (try place.writer(), try place.checkpointer())
    try writer.save()
    let reader = place.store.context()
    try reader.performAndWait {
      try reader.setQueryGenerationFrom(.current)
      #expect(try reader.all("Book").count == 8)
    }
    for _ in 0..<8 { try writer.save() }
    let first = try checkpointer.checkpoint(.whileWriting)
    #expect(first.pagesLeft > 0 && first.isTooLong)
    #expect(!first.pins.isEmpty)
    let turn = try FairFileLock(path: place.turn)
    try turn.hold {
      let second = try checkpointer.checkpoint(.whileWriting)
      #expect(second == first, "the same reader, at the same mark")
    }
    try writer.save()
    #expect(place.logBytes > 4 << 20)
    try reader.performAndWait { try reader.setQueryGenerationFrom(nil) }
    #expect(try checkpointer.checkpoint(.whileWriting) == WALCheckpointer.Outcome())
    #expect(place.logBytes == 0)
  }

  /// Writers pay nothing while the log is short.
  @Test(.timeLimit(.minutes(20))) func aShortLogKeepsNobodyWaiting() throws {
    let place = try Place()
    try place.writer().save()
    let checkpointer = try place.checkpointer(copied: 8 << 20, length: 16 << 20, file: 16 << 20)
    let before = place.logBytes
    try FairFileLock(path: place.turn).hold {
      for effort in [WALCheckpointer.Effort.whileWriting, .inPause] {
        let outcome = try checkpointer.checkpoint(effort)
        #expect(outcome == WALCheckpointer.Outcome())
      }
    }
    #expect(place.logBytes == before)
  }
}
