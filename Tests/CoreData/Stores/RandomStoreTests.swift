import TestFiles
import Testing

@testable import CoreData

/// Long random histories of each kind of store, with saves that fail and stores that become others, each step compared
/// with plain values.
@Suite struct RandomStoreTests {
  private final class History {
    var kind: StoreKind
    let stack: StoreStack
    let context: NSManagedObjectContext
    var saved = PlainLibrary()
    var shown = PlainLibrary()
    var random: RandomSteps
    private var places = 0

    init(_ kind: StoreKind, seed: Int) throws {
      self.kind = kind
      stack = try StoreStack(kind)
      context = stack.context()
      random = RandomSteps(seed: seed)
    }

    deinit {
      for store in stack.coordinator.persistentStores { store.url.map { Shelf.remove($0) } }
    }

    func change() throws {
      try context.performAndWait {
        for _ in 0...random.next(5) { try context.changeAtRandom(&shown, &random) }
      }
    }

    func save() throws {
      try context.performAndWait { try context.save() }
      saved = shown
    }

    /// A save that the store refuses; false where it cannot be made to refuse one.
    func saveInVain() throws -> Bool {
      guard let store = stack.coordinator.persistentStores.first, let url = store.url else { return false }
      var obstacle: URL?
      switch store {
      case let cards as FillableCardStore: cards.isFull = true
      case let shelf as ShelfStore: shelf.isFull = true
      case is FileStore:
        let place = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).\(getpid()).tmp")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        obstacle = place
      default: return false
      }
      defer {
        (store as? FillableCardStore)?.isFull = false
        (store as? ShelfStore)?.isFull = false
        obstacle.map { try? FileManager.default.removeItem(at: $0) }
      }
      context.performAndWait {
        guard context.hasChanges else { return }
        #expect(throws: NSError.self) { try context.save() }
      }
      return true
    }

    /// The store becomes one of another kind, at another place.
    func migrate(to new: StoreKind) throws {
      new.register()
      places += 1
      let place = new.place(stack.folder.appendingPathComponent("store \(places) é%#"))
      let old = stack.store
      context.performAndWait { context.reset() }
      shown = saved
      try stack.coordinator.migratePersistentStore(old, to: place, withType: new.type)
      old.url.map { Shelf.remove($0) }
      kind = new
    }

    /// What another coordinator finds in the store.
    func found() throws -> PlainLibrary {
      if !kind.isLasting { return try stack.perform { try $0.plainLibrary() } }
      let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try other.addPersistentStore(ofType: kind.type, configurationName: nil, at: stack.store.url)
      let context = stack.context(other)
      return try context.performAndWait { try context.plainLibrary() }
    }
  }

  @Test(arguments: StoreKind.allCases, 0..<tries(6, inDebug: 2))
  func aStoreHasWhatWasSaved(kind: StoreKind, seed: Int) throws {
    let history = try History(kind, seed: seed)
    for step in 0..<60 {
      switch history.random.next(12) {
      case 0, 1, 2: try history.save()
      case 3:
        history.context.performAndWait { history.context.rollback() }
        history.shown = history.saved
      case 4:
        history.context.performAndWait { history.context.reset() }
        history.shown = history.saved
      case 5: _ = try history.saveInVain()
      case 6:
        try history.context.performAndWait {
          try history.context.obtainPermanentIDs(for: Array(history.context.insertedObjects))
        }
      case 7:
        let kinds = StoreKind.allCases
        try history.migrate(to: kinds[history.random.next(kinds.count)])
      default: try history.change()
      }
      let shown = try history.context.performAndWait { try history.context.plainLibrary() }
      try #require(shown == history.shown, "\(kind), seed \(seed), step \(step)")
      if history.random.next(3) == 0 {
        try #require(history.found() == history.saved, "\(kind), seed \(seed), step \(step)")
      }
    }
    try history.save()
    try #expect(history.found() == history.saved)
  }

  // MARK: Damaged files

  /// A file with bytes that were changed, removed, doubled or swapped is read or refused, and stops nobody.
  @Test(arguments: [StoreKind.binary, .xml], 0..<tries(6, inDebug: 2))
  func aDamagedFileIsReadOrRefused(kind: StoreKind, seed: Int) throws {
    let history = try History(kind, seed: seed)
    for _ in 0..<20 { try history.change() }
    try history.save()
    let good = try Data(contentsOf: history.stack.url)
    var random = RandomSteps(seed: 100 + seed)
    for _ in 0..<60 {
      var bytes = Array(good)
      for _ in 0...random.next(4) {
        let (place, length) = (random.next(bytes.count), 1 + random.next(40))
        let range = place..<min(bytes.count, place + length)
        switch random.next(6) {
        case 0: bytes[place] = UInt8(random.next(256))
        case 1: bytes.removeSubrange(range)
        case 2: bytes.insert(contentsOf: bytes[range], at: place)
        case 3: bytes.swapAt(place, random.next(bytes.count))
        case 4: bytes[place] ^= UInt8(1 << random.next(8))
        default:
          // Numbers are where damage does most harm.
          let digits = bytes.indices.filter { (0x30...0x39).contains(bytes[$0]) }
          if let digit = random.pick(digits) { bytes.insert(UInt8(0x30 + random.next(10)), at: digit) }
        }
        if bytes.isEmpty { break }
      }
      let place = history.stack.folder.appendingPathComponent("damaged")
      try Data(bytes).write(to: place)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      do {
        try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: place)
      } catch {
        #expect(Swift.type(of: error) is NSError.Type && !error.localizedDescription.isEmpty, "\(error)")
        continue
      }
      let context = history.stack.context(coordinator)
      context.performAndWait {
        // Both ends of a relationship may disagree: that is no reason to stop.
        for entity in ["Book", "Author", "Tag", "Passport"] {
          for object in (try? context.all(entity)) ?? [] {
            for name in object.entity.relationshipsByName.keys { _ = object.value(forKey: name) }
            if random.next(8) == 0 { context.delete(object) }
          }
        }
        context.make("Tag", ["label": "new"])
        try? context.save()
      }
    }
  }
}
