import CoreData
import Testing

/// Subclasses of the merge policy that resolve unique values, and many writers.
@Suite struct ConstraintPolicyTests {
  /// Apps do this to keep the values that the new object does not set.
  @Test func aPolicyMayTakeOverValuesOfTheRowAndCallSuper() throws {
    // `@unchecked Sendable`: it holds nothing of its own.
    final class Preserving: NSMergePolicy, @unchecked Sendable {
      override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        for conflict in list {
          guard let row = conflict.databaseObject else { continue }
          for object in conflict.conflictingObjects {
            for key in object.entity.propertiesByName.keys where object.value(forKey: key) == nil {
              object.setValue(row.value(forKey: key), forKey: key)
            }
            let tags = row.members("tags").union(object.members("tags"))
            object.setValue(tags, forKey: "tags")
          }
        }
        try super.resolve(constraintConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    try library.store.save { context in
      let book = context.make("Book", ["title": "One", "pages": 1, "rating": 5.0])
      book.setValue(context.make("Author", ["name": "A"]), forKey: "author")
      book.setValue(Set([context.make("Tag", ["label": "T"])]), forKey: "tags")
    }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Preserving(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      let book = context.make("Book", ["title": "One", "pages": 2])
      try context.save()
      #expect(book.object("author")?.text("name") == "A" && book.members("tags").count == 1)
      #expect(book.object("author")?.members("books") == [book])
    }
    try #expect(library.books() == [["One", "1", "2", "2", "5.0"]])
    try #expect(library.store.sql("SELECT (SELECT count(*) FROM Z_2TAGS), ZAUTHOR FROM ZBOOK") == [["1", "1"]])
  }

  @Test func aPolicyMayMakeTheValuesDifferent() throws {
    // `@unchecked Sendable`: it holds nothing of its own.
    final class Renaming: NSMergePolicy, @unchecked Sendable {
      override func resolve(mergeConflicts list: [Any]) throws {
        for case let conflict as NSConstraintConflict in list {
          for object in conflict.conflictingObjects {
            object.setValue("\(object.text("title") ?? "")+", forKey: "title")
          }
        }
        try super.resolve(mergeConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    try library.store.save { context in for title in ["a", "a+"] { context.make("Book", ["title": title]) } }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Renaming(merge: .overwriteMergePolicyType)
    try context.performAndWait {
      context.make("Book", ["title": "a"])
      try context.save()
    }
    try #expect(library.books().map { $0[0] } == ["a", "a+", "a++"])
  }

  @Test func aPolicyThatDoesNothingEndsInTheError() throws {
    // `@unchecked Sendable`: it holds nothing of its own.
    final class Idle: NSMergePolicy, @unchecked Sendable {
      override func resolve(mergeConflicts list: [Any]) throws {}
    }
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "a"]) }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Idle(merge: .overwriteMergePolicyType)
    context.performAndWait {
      context.make("Book", ["title": "a"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 133021 }
    }
  }

  @Test func aVersionConflictIsResolvedBeforeAConstraintConflict() throws {
    // `@unchecked Sendable`: its list is used on the thread of this test alone.
    final class Noting: NSMergePolicy, @unchecked Sendable {
      nonisolated(unsafe) var calls: [String] = []
      override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        calls.append("versions \(list.count)")
        try super.resolve(optimisticLockingConflicts: list)
      }
      override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        calls.append("constraints \(list.count)")
        try super.resolve(constraintConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    let id = try library.store.save { $0.make("Book", ["title": "One"]) }.objectID
    let context = library.context(.errorMergePolicyType)
    let policy = Noting(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    context.mergePolicy = policy
    try context.performAndWait {
      // context                      | another
      // -----------------------------+---------------------------
      // changes "One", makes "Two"   |
      //                              | changes "One", makes "Two"
      // saves                        |
      context.object(with: id).setValue(5, forKey: "pages")
      context.make("Book", ["title": "Two", "pages": 6])
      try library.store.save { another in
        another.object(with: id).setValue(2.0, forKey: "rating")
        another.make("Book", ["title": "Two", "rating": 3.0])
      }
      try context.save()
    }
    #expect(policy.calls == ["versions 1", "constraints 1"])
    try #expect(library.books() == [["One", "1", "3", "5", "2.0"], ["Two", "2", "2", "6", nil]])
  }

  // MARK: Many

  @Test func manyWritersOfTheSameUniqueValuesLeaveOneRowEach() async throws {
    let library = try UniqueLibrary()
    let stacks = try (0..<3).map { _ in try library.store.otherCoordinator() } + [library.store.coordinator]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for stack in stacks {
        group.addTask {
          let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType, on: stack)
          try await context.perform {
            for round in 0..<20 {
              for title in 0..<5 { context.make("Book", ["title": "\(title)", "pages": round]) }
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try #expect(
      library.store.sql("SELECT ZTITLE, count(*), ZPAGES FROM ZBOOK GROUP BY 1 ORDER BY 1")
        == (0..<5).map { ["\($0)", "1", "19"] })
  }

  @Test(.timeLimit(.minutes(20)))
  func thousandsOfConflictsInOneSaveAreResolvedTogether() throws {
    let library = try UniqueLibrary()
    try library.store.save { context in for number in 0..<5000 { context.make("Book", ["title": "\(number)"]) } }
    let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      for number in 0..<6000 { context.make("Book", ["title": "\(number)", "pages": 1]) }
      try context.save()
    }
    try #expect(library.store.sql("SELECT count(*), sum(ZPAGES), max(Z_PK) FROM ZBOOK") == [["6000", "6000", "6000"]])
  }
}
