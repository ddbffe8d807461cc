import CoreData
import Testing

@Suite struct OrderedRelationshipTests {
  /// A list of items in order (one to many), and shelves with books in order (many to many).
  private static func model() -> NSManagedObjectModel {
    let list = LibraryModel.entity("List", [LibraryModel.attribute("name", .stringAttributeType)])
    let item = LibraryModel.entity("Item", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(list, "items", item, "list", toMany: (true, false), ordered: true)
    LibraryModel.relate(list, "shared", item, "sharedBy", toMany: (true, true), ordered: true)
    let model = NSManagedObjectModel()
    model.entities = [list, item]
    return model
  }

  private func names(_ object: NSManagedObject, _ key: String) -> [String] {
    ((object.value(forKey: key) as? NSOrderedSet)?.array as? [NSManagedObject])?.compactMap { $0.text("name") } ?? []
  }

  private func ordered(_ context: NSManagedObjectContext, _ names: [String]) throws -> NSOrderedSet {
    NSOrderedSet(
      array: try names.map { name in
        try context.all("Item", where: "name == '\(name)'").first ?? context.make("Item", ["name": name])
      })
  }

  @Test(arguments: ["items", "shared"])
  func theOrderIsKeptAndCanBeChanged(_ key: String) throws {
    let store = try TemporaryStore(Self.model())
    let id = try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["c", "a", "b"]), forKey: key)
      #expect(names(list, key) == ["c", "a", "b"])
      return list
    }.objectID
    try store.read { #expect(names($0.object(with: id), key) == ["c", "a", "b"]) }
    try store.save { context in
      let list = context.object(with: id)
      list.setValue(try ordered(context, ["a", "b", "c", "d"]), forKey: key)
      #expect(names(list, key) == ["a", "b", "c", "d"])
    }
    try store.read { #expect(names($0.object(with: id), key) == ["a", "b", "c", "d"]) }
    try store.save { context in
      context.object(with: id).setValue(try ordered(context, ["d", "b"]), forKey: key)
    }
    try store.read { #expect(names($0.object(with: id), key) == ["d", "b"]) }
  }

  @Test func committedMembersHaveTheStoredOrder() throws {
    let store = try TemporaryStore(Self.model())
    let id = try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["c", "a", "b"]), forKey: "items")
      return list
    }.objectID
    try store.read { context in
      let list = context.object(with: id)
      func committed() throws -> [String?] {
        let members = try #require(list.committedValues(forKeys: ["items"])["items"] as? NSOrderedSet)
        return members.map { ($0 as? NSManagedObject)?.text("name") }
      }
      try #expect(committed() == ["c", "a", "b"])
      list.setValue(try ordered(context, ["a", "new", "c"]), forKey: "items")
      try #expect(committed() == ["c", "a", "b"])
      try context.save()
      try #expect(committed() == ["a", "new", "c"])
      // A change from the other end, before the members are read.
      context.refresh(list, mergeChanges: false)
      try context.all("Item", where: "name == 'a'")[0].setValue(nil, forKey: "list")
      try #expect(committed() == ["a", "new", "c"])
      #expect(names(list, "items") == ["new", "c"])
    }
  }

  @Test func positionsAreWrittenAsApplesFilesHaveThem() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["b", "a"]), forKey: "items")
    }
    try #expect(
      store.sql("SELECT ZNAME, Z_FOK_LIST FROM ZITEM ORDER BY Z_FOK_LIST") == [["b", "2048"], ["a", "3072"]])
  }

  @Test func onlyMembersWhoseOrderChangesGetAPosition() throws {
    let store = try TemporaryStore(Self.model())
    let id = try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["a", "b", "c"]), forKey: "items")
      return list
    }.objectID
    _ = try store.sql("CREATE TABLE NOTES (NAME)")
    _ = try store.sql(
      """
      CREATE TRIGGER NOTE AFTER UPDATE OF Z_FOK_LIST ON ZITEM BEGIN \
      INSERT INTO NOTES VALUES (NEW.ZNAME || NEW.Z_FOK_LIST); END
      """)
    /// The positions that a save of the members in this order writes.
    func written(_ members: [String]) throws -> [[String?]] {
      try store.save { $0.object(with: id).setValue(try ordered($0, members), forKey: "items") }
      try store.read { #expect(names($0.object(with: id), "items") == members) }
      defer { _ = try? store.sql("DELETE FROM NOTES") }
      return try store.sql("SELECT NAME FROM NOTES ORDER BY 1")
    }
    try #expect(written(["a", "b", "c", "d"]) == [["d5120"]])
    try #expect(written(["a", "c", "d"]) == [])
    try #expect(written(["a", "c", "d", "e"]) == [["e6144"]])
    try #expect(written(["e", "a", "c", "d"]) == [["a3072"], ["e2048"]])
  }

  /// The relationship is set from the other end, before the list itself is read.
  @Test(arguments: ["list", "sharedBy"])
  func membersAddedWithoutReadingTheListComeLast(_ inverse: String) throws {
    let key = inverse == "list" ? "items" : "shared"
    let store = try TemporaryStore(Self.model())
    let id = try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["b", "c"]), forKey: key)
      return list
    }.objectID
    try store.save { context in
      let item = context.make("Item", ["name": "a"])
      let list = context.object(with: id)
      if inverse == "list" { item.setValue(list, forKey: inverse) } else { item.setValue(Set([list]), forKey: inverse) }
      #expect(list.hasFault(forRelationshipNamed: key))
    }
    try store.read { #expect(names($0.object(with: id), key) == ["b", "c", "a"]) }
  }

  @Test func aMemberMovesFromListToList() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { context in
      let first = context.make("List", ["name": "1"])
      first.setValue(try ordered(context, ["a", "b", "c"]), forKey: "items")
      let second = context.make("List", ["name": "2"])
      second.setValue(try ordered(context, ["x"]), forKey: "items")
      try context.save()
      try context.all("Item", where: "name == 'b'")[0].setValue(second, forKey: "list")
      #expect(names(first, "items") == ["a", "c"] && names(second, "items") == ["x", "b"])
      context.delete(try context.all("Item", where: "name == 'a'")[0])
      context.processPendingChanges()
      #expect(names(first, "items") == ["c"])
    }
    try store.read { context in
      let lists = try context.all("List", sort: "name")
      #expect(names(lists[0], "items") == ["c"] && names(lists[1], "items") == ["x", "b"])
    }
  }

  @Test func theOrderGoesUpFromAChildAndBackWithARollback() throws {
    let store = try TemporaryStore(Self.model())
    let id = try store.save { context in
      let list = context.make("List", ["name": "l"])
      list.setValue(try ordered(context, ["a", "b", "c"]), forKey: "items")
      return list
    }.objectID
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      let list = child.object(with: id)
      #expect(names(list, "items") == ["a", "b", "c"])
      list.setValue(try ordered(child, ["c", "b", "a"]), forKey: "items")
      child.rollback()
      #expect(names(list, "items") == ["a", "b", "c"])
      list.setValue(try ordered(child, ["c", "a", "new", "b"]), forKey: "items")
      try child.save()
    }
    try parent.performAndWait {
      #expect(names(parent.object(with: id), "items") == ["c", "a", "new", "b"])
      try parent.save()
    }
    try store.read { #expect(names($0.object(with: id), "items") == ["c", "a", "new", "b"]) }
  }
}
