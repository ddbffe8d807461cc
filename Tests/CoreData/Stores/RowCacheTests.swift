import Testing

@testable import CoreData

/// Which rows the cache keeps: those that are used, and the last ones that were fetched.
@Suite struct RowCacheTests {
  private let layout: EntityLayout

  init() throws { layout = try #require(LibraryModel.make().entitiesByName["Tag"]).layout }

  private typealias Row = (key: Int64, table: Int32, snapshot: Snapshot)

  private func rows(_ keys: some Sequence<Int64>, version: Int64 = 1) -> [Row] {
    keys.map { ($0, 7, Snapshot.make(layout, version: version)) }
  }

  private func fetch(_ keys: some Sequence<Int64>, version: Int64 = 1, into cache: RowCache) {
    cache.add(rows(keys, version: version), since: cache.epoch)
  }

  private func found(_ keys: some Sequence<Int64>, in cache: RowCache) -> [Int64] {
    keys.filter { cache.find($0, 7) != nil }
  }

  @Test func fetchedRowsPushOutOnlyFetchedOnes() throws {
    let cache = RowCache(generationSize: 8, fetchedSize: 4)
    cache.add(Snapshot.make(layout), 100, 7, since: cache.epoch)
    for start in stride(from: Int64(1), to: 40, by: 4) { fetch(start..<start + 4, into: cache) }
    // Looked for from the last one on: a row that is found counts as used.
    #expect(found((1...40).reversed(), in: cache) == Array((33...40).reversed()))
    #expect(found([100], in: cache) == [100])
  }

  @Test func aFetchedRowThatIsFoundCountsAsUsed() throws {
    let cache = RowCache(generationSize: 8, fetchedSize: 4)
    fetch(1...4, into: cache)
    #expect(found([2], in: cache) == [2])
    for start in stride(from: Int64(11), to: 40, by: 4) { fetch(start..<start + 4, into: cache) }
    #expect(found(1...4, in: cache) == [2])
  }

  @Test func aRowThatIsFetchedAgainIsTheNewOne() throws {
    let cache = RowCache(generationSize: 8, fetchedSize: 4)
    cache.add(Snapshot.make(layout, version: 1), 1, 7, since: cache.epoch)
    fetch(1...3, version: 2, into: cache)
    #expect((1...3).map { cache.find($0, 7)?.version } == [2, 2, 2])
  }

  /// The saved row leaves the cache before the fetched one would: that must not come back.
  @Test func aSavedRowLeavesNoOlderOneBehind() throws {
    let cache = RowCache(generationSize: 2, fetchedSize: 100)
    fetch(1...10, into: cache)
    cache.commit(saved: rows([3], version: 2), removed: [(key: 4, table: 7)])
    #expect(cache.find(3, 7)?.version == 2 && cache.find(4, 7) == nil)
    for key in Int64(50)..<60 { cache.add(Snapshot.make(layout), key, 7, since: cache.epoch) }
    #expect(found(1...10, in: cache) == [1, 2, 5, 6, 7, 8, 9, 10])
  }

  @Test func aBatchRequestLeavesTheRowsBeforeIt() throws {
    let cache = RowCache(generationSize: 8, fetchedSize: 4)
    fetch(1...2, into: cache)
    cache.add(Snapshot.make(layout), 3, 7, since: cache.epoch)
    cache.supersede()
    #expect(cache.hasSuperseded && found(1...3, in: cache) == [])
    #expect((1...3).allSatisfy { cache.superseded($0, 7) != nil })
    fetch([2], version: 2, into: cache)
    #expect(cache.superseded(2, 7)?.version == 2 && cache.superseded(1, 7)?.version == 1)
  }

  @Test func anOptionOfFewRowsBoundsBothParts() throws {
    let cache = RowCache([NSPersistentStoreRowCacheOption: 16])
    fetch(1...100, into: cache)
    for key in Int64(101)...200 { cache.add(Snapshot.make(layout), key, 7, since: cache.epoch) }
    #expect(found((1...200).reversed(), in: cache).count <= 16)
    let none = RowCache(generationSize: 0)
    fetch(1...3, into: none)
    #expect(found(1...3, in: none) == [])
  }
}
