import CoreData
import LinuxSystem
import TestFiles
import Testing

@testable import WorkerPool

/// How long a pool waits for its store.
@Suite struct OpeningPhaseTests {
  private func open(waiting seconds: Double?, _ open: @escaping @Sendable () throws -> any JobSource) throws -> Bool {
    var configuration = PoolConfiguration(store: "/nowhere/app.sqlite", queue: temporaryURL("queue").path)
    configuration.log = Log { _ in }
    configuration.storeTimeout = seconds
    return try OpeningPhase(configuration, signals: nil, manager: nil, open: open).run() != nil
  }

  private static let locked = NSError(
    domain: NSCocoaErrorDomain, code: NSPersistentStoreOpenError,
    userInfo: [NSSQLiteErrorDomain: 5, NSLocalizedDescriptionKey: "it is locked"])

  @Test(arguments: [0, 60, nil]) func aStoreThatOpensIsOpened(seconds: Double?) throws {
    #expect(try open(waiting: seconds) { MemoryJobSource([]) })
  }

  @Test func withoutWaitingThereIsOneTry() throws {
    let tries = Collected<Double>()
    let error = #expect(throws: Pool.StartError.self) {
      try open(waiting: 0) {
        tries.add(Clock.now)
        throw Self.locked
      }
    }
    #expect(tries.all.count == 1)
    #expect(error?.description.contains("/nowhere/app.sqlite could not be opened at once: it is locked") == true)
  }

  @Test func aStoreThatIsLockedAtFirstIsTriedAgain() throws {
    let tries = Collected<Double>()
    let isOpen = try open(waiting: 60) {
      tries.add(Clock.now)
      guard tries.all.count == 2 else { throw Self.locked }
      return MemoryJobSource([])
    }
    #expect(isOpen && tries.all.count == 2)
  }
}
