import CoreData
import Testing

/// A child's changes are based on the values that it read through its parent, even if the parent holds none of them.
@Suite struct NestedConflictTests {
  private enum Change: String, CaseIterable {
    case update, deletion
  }

  /// A child's save, and then its parent's, of a row that another context saved after the child read it.
  @Test(arguments: [false, true]) private func whatAnotherSavedSinceTheChildReadIsAConflictOfItsParent(
    _ isSameCoordinator: Bool
  ) throws {
    for change in Change.allCases {
      for depth in 1...2 {
        let store = try TemporaryStore()
        let id = try store.save { $0.make("Book", ["title": "One", "pages": 5]) }.objectID
        let root = store.context()
        var chain = [root]
        for _ in 0..<depth {
          let child = chain[0].child()
          chain.insert(child, at: 0)
        }
        let child = chain[0]
        let other = try (isSameCoordinator ? store.coordinator : store.otherCoordinator()).context()
        // child and above   | another context
        // ------------------+----------------
        // reads             |
        //                   | saves
        // saves             |
        // saves above       |
        // root saves: error |
        try child.performAndWait {
          let book = try child.existingObject(with: id)
          #expect(book.value(forKey: "pages") as? Int == 5)
          try other.performAndWait {
            try other.all("Book")[0].setValue(6, forKey: "pages")
            try other.save()
          }
          if change == .update { book.setValue(6, forKey: "pages") } else { child.delete(book) }
          try child.save()
        }
        for level in chain.dropFirst().dropLast() { try level.performAndWait { try level.save() } }
        let code = root.performAndWait { () -> Int? in
          do {
            try root.save()
            return nil
          } catch {
            return (error as NSError).code
          }
        }
        #expect(code == CocoaError.Code.managedObjectMerge.rawValue, "\(change), \(depth) levels")
        #expect(try store.sql("SELECT ZPAGES, Z_OPT FROM ZBOOK") == [["6", "2"]], "\(change), \(depth) levels")
      }
    }
  }

  /// The child's own save is not a conflict with itself, although the parent does not hold the object.
  @Test func whatTheChildItselfSavedBeforeIsNoConflict() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in (0..<2).map { context.make("Book", ["title": "One", "pages": $0]) } }.map(
      \.objectID)
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      let books = try ids.map { try child.existingObject(with: $0) }
      let tag = child.make("Tag", ["label": "new"])
      for round in 1...3 {
        books[0].setValue(10 * round, forKey: "pages")
        // Changes members only.
        books[1].setValue(round == 2 ? NSSet() : NSSet(object: tag), forKey: "tags")
        tag.setValue("round \(round)", forKey: "label")
        try child.save()
        try parent.performAndWait { try parent.save() }
      }
      child.delete(books[0])
      try child.save()
      try parent.performAndWait { try parent.save() }
    }
    #expect(try store.sql("SELECT ZPAGES FROM ZBOOK") == [["1"]])
    #expect(try store.sql("SELECT ZLABEL FROM ZTAG") == [["round 3"]])
  }
}
