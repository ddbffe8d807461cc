import CoreData
import Testing

/// Long random histories over three levels of contexts and a second process, each step compared with plain values.
@Suite struct RandomStackTests {
  private final class History {
    let store: TemporaryStore
    let levels: [NSManagedObjectContext]
    /// The expected content of the file and of each level.
    var file = PlainLibrary()
    var views: [PlainLibrary]
    var random: RandomSteps
    /// Keeps objects alive now and then, so that some are reused and some are not.
    var held: [NSManagedObject] = []

    init(seed: Int) throws {
      store = try TemporaryStore()
      let root = store.context()
      let child = root.child()
      let grandchild = child.child()
      levels = [root, child, grandchild]
      views = Array(repeating: PlainLibrary(), count: 3)
      random = RandomSteps(seed: seed)
    }

    /// The content that the level above shows.
    func base(_ level: Int) -> PlainLibrary { level == 0 ? file : views[level - 1] }

    /// Makes the levels below a level refresh to its content.
    func settleBelow(_ level: Int) throws {
      for below in (level + 1..<levels.count).reversed() where views[below] != views[level] || random.next(4) == 0 {
        let context = levels[below]
        context.performAndWait {
          if random.next(2) == 0 { return context.reset() }
          context.rollback()
          context.refreshAllObjects()
        }
      }
      for below in level + 1..<levels.count { views[below] = views[level] }
    }

    /// Saves a level and those below it, the lowest first.
    func save(_ level: Int) throws {
      for saved in (level..<levels.count).reversed() {
        let context = levels[saved]
        try context.performAndWait { try context.save() }
        let view = views[saved]
        if saved == 0 { file = view } else { views[saved - 1] = view }
      }
    }
  }

  @Test(arguments: 0..<8)
  func everyLevelShowsWhatItShould(seed: Int) throws {
    let history = try History(seed: seed)
    for step in 0..<160 {
      let level = history.random.next(3)
      let context = history.levels[level]
      // The levels below have no changes while this one works.
      if level < 2 {
        if history.random.next(2) == 0 {
          try history.save(level + 1)
        }
        try history.settleBelow(level)
      }
      switch history.random.next(12) {
      case 0:
        try history.save(level)
        try history.settleBelow(level)
      case 1:
        context.performAndWait { context.rollback() }
        history.views[level] = history.base(level)
        try history.settleBelow(level)
      case 2:
        context.performAndWait { context.reset() }
        history.held = history.held.filter { $0.managedObjectContext != nil }
        history.views[level] = history.base(level)
        try history.settleBelow(level)
      case 3:
        try context.performAndWait { try context.obtainPermanentIDs(for: Array(context.insertedObjects)) }
      case 4:
        try foreignSave(history)
      default:
        try context.performAndWait {
          for _ in 0...history.random.next(4) {
            try context.changeAtRandom(&history.views[level], &history.random)
          }
          if history.random.next(3) == 0 { history.held = Array(context.registeredObjects.prefix(20)) }
        }
        try history.settleBelow(level)
      }
      for context in history.levels {
        #expect(context.performAndWait { context.isConsistent }, "seed \(seed), step \(step)")
      }
      for level in history.levels.indices where history.random.next(2) == 0 {
        let context = history.levels[level]
        let shown = try context.performAndWait { try context.plainLibrary() }
        try #require(shown == history.views[level], "seed \(seed), step \(step), level \(level)")
      }
    }
    try history.save(0)
    let shown = try history.store.read { try $0.plainLibrary() }
    #expect(shown == history.file)
    try #expect(history.store.sql("PRAGMA integrity_check") == [["ok"]])
    // Every row of a join table has both of its ends.
    try #expect(
      history.store.sql(
        """
        SELECT count(*) FROM Z_2TAGS WHERE Z_2BOOKS NOT IN (SELECT Z_PK FROM ZBOOK)
        OR Z_5TAGS NOT IN (SELECT Z_PK FROM ZTAG)
        """) == [["0"]])
  }

  /// Another process changes the file while no level has changes, and all levels refresh to it.
  private func foreignSave(_ history: History) throws {
    for context in history.levels { context.performAndWait { context.rollback() } }
    let other = try history.store.otherCoordinator()
    let context = other.context()
    try context.performAndWait {
      for _ in 0..<3 { try context.changeAtRandom(&history.file, &history.random) }
      try context.save()
    }
    history.views = Array(repeating: history.file, count: 3)
    for context in history.levels {
      context.performAndWait {
        if history.random.next(2) == 0 { context.reset() } else { context.refreshAllObjects() }
      }
    }
  }
}
