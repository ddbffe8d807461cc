import Synchronization
import Testing

@testable import CoreData

/// The maximum age of a cached row.
@Suite struct RowAgeTests {
  /// A clock that only the test moves.
  private final class Clock: Sendable {
    private let time = Mutex<TimeInterval>(0)
    var now: TimeInterval { time.withLock { $0 } }
    func advance(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }
  }

  private func row() throws -> (NSManagedObjectID, Snapshot) {
    let layout = try #require(LibraryModel.make().entitiesByName["Tag"]).layout
    let storedEntity = StoredEntity(layout: layout, collection: nil, number: 1, table: 7)
    return (NSManagedObjectID(storedEntity: storedEntity, key: 1), Snapshot.make(layout))
  }

  @Test func aRowIsGoodForAsLongAsIsAskedFor() throws {
    let clock = Clock()
    let cache = RowCache(generationSize: 2) { clock.now }
    let (id, snapshot) = try row()
    cache.add([(1, 7, snapshot)], since: cache.epoch)
    // The age of rows from before the first question for ages is unknown.
    #expect(cache.find(id, maximumAge: 10) == nil)
    #expect(cache.find(id, maximumAge: -1) === snapshot)
    cache.add([(1, 7, snapshot)], since: cache.epoch)
    clock.advance(9)
    #expect(cache.find(id, maximumAge: 10) === snapshot && cache.find(id, maximumAge: 5) == nil)
    #expect(cache.find(id, maximumAge: 0) == nil)
    clock.advance(2)
    #expect(cache.find(id, maximumAge: 10) == nil)
    #expect(cache.find(id, maximumAge: -1) === snapshot)
  }

  @Test func findingARowDoesNotMakeItYounger() throws {
    let clock = Clock()
    let cache = RowCache(generationSize: 2) { clock.now }
    let (id, snapshot) = try row()
    _ = cache.find(id, maximumAge: 10)
    cache.add([(1, 7, snapshot)], since: cache.epoch)
    clock.advance(6)
    // The others push it into the older generation, and finding it brings it back.
    cache.add([(2, 7, snapshot), (3, 7, snapshot)], since: cache.epoch)
    #expect(cache.find(1, 7) === snapshot)
    clock.advance(6)
    #expect(cache.find(id, maximumAge: 10) == nil && cache.find(id, maximumAge: 13) === snapshot)
  }
}
