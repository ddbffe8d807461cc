import CoreData
import Testing

/// `mutableOrderedSetValue(forKey:)`: a view that changes the relationship and follows it.
@Suite struct LiveListTests {
  private func withTags(_ body: (TemporaryStore, NSManagedObject, [NSManagedObject]) throws -> Void) throws {
    let store = try TemporaryStore()
    try store.read { context in
      let owner = context.make("Tag", ["label": "owner"])
      let tags = ["a", "b", "c", "d"].map { context.make("Tag", ["label": $0]) }
      owner.setValue(NSOrderedSet(array: Array(tags[...2])), forKey: "ordered")
      try context.save()
      try body(store, owner, tags)
    }
  }

  private func labels(_ list: NSOrderedSet) -> String {
    list.map { ($0 as? NSManagedObject)?.text("label") ?? "?" }.joined()
  }

  @Test func everyChangeOfTheListIsAChangeOfTheRelationship() throws {
    try withTags { store, owner, tags in
      let list = owner.mutableOrderedSetValue(forKey: "ordered")
      #expect(labels(list) == "abc" && list.count == 3 && !owner.hasChanges)
      list.add(tags[3])
      #expect(owner.hasChanges && tags[3].members("orderedBy") == [owner])
      list.add(tags[3])
      #expect(labels(list) == "abcd")
      list.remove(tags[0])
      list.insert(tags[0], at: 1)
      #expect(labels(list) == "bacd")
      list.exchangeObject(at: 0, withObjectAt: 3)
      #expect(labels(list) == "dacb")
      list.moveObjects(at: [0, 1], to: 2)
      #expect(labels(list) == "cbda")
      list.removeObject(at: 0)
      #expect(tags[2].members("orderedBy").isEmpty)
      list.replaceObject(at: 0, with: tags[2])
      #expect(labels(list) == "cda" && tags[1].members("orderedBy").isEmpty)
      list.sort(using: [NSSortDescriptor(key: "label", ascending: true)])
      #expect(labels(list) == "acd")
      list.sort { left, right in
        let texts = [left, right].map { ($0 as? NSManagedObject)?.text("label") ?? "" }
        return texts[1].compare(texts[0])
      }
      #expect(labels(list) == "dca")
      #expect(labels(try #require(owner.value(forKey: "ordered") as? NSOrderedSet)) == "dca")
      try owner.managedObjectContext?.save()
      try store.read { fresh in
        let read = fresh.object(with: owner.objectID).value(forKey: "ordered") as? NSOrderedSet
        try #expect(labels(#require(read)) == "dca")
      }
    }
  }

  @Test func aPathLeadsToTheRelationshipOfARelatedObject() throws {
    try withTags { _, owner, tags in
      let context = try #require(owner.managedObjectContext)
      let author = context.make("Author", ["name": "Ada"])
      let books = (0..<2).map { _ in context.make("Book", ["author": author]) }
      let set = books[0].mutableSetValue(forKeyPath: "author.books")
      set.remove(books[1])
      #expect(author.members("books") == [books[0]] && books[1].object("author") == nil)
      // It stays a view of that author's books.
      books[0].setValue(nil, forKey: "author")
      set.add(books[1])
      #expect(books[1].object("author") == author)
      #expect(tags[0].mutableSetValue(forKeyPath: "orderedBy").contains(owner))
      let list = owner.mutableOrderedSetValue(forKeyPath: "ordered")
      list.remove(tags[0])
      #expect(labels(owner.mutableOrderedSetValue(forKey: "ordered")) == "bc")
    }
  }

  @Test func aPathThatLeadsToNoObjectTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      try store.read { context in _ = context.make("Book").mutableSetValue(forKeyPath: "author.books") }
    }
    expectSentence(result, "Book.author in the path \"author.books\" has no object with a relationship.")
  }

  @Test func primitiveChangesKeepTheirOrder() throws {
    try withTags { store, owner, tags in
      owner.willChangeValue(forKey: "ordered")
      owner.setPrimitiveValue(NSOrderedSet(array: [tags[2], tags[0], tags[1]]), forKey: "ordered")
      let list = try #require(owner.primitiveValue(forKey: "ordered") as? NSMutableOrderedSet)
      #expect(labels(list) == "cab")
      list.insert(tags[3], at: 1)
      #expect(labels(list) == "cdab")
      list.exchangeObject(at: 0, withObjectAt: 3)
      #expect(labels(list) == "bdac")
      list.moveObjects(at: [2], to: 0)
      #expect(labels(list) == "abdc")
      list.sort(using: [NSSortDescriptor(key: "label", ascending: false)])
      #expect(labels(list) == "dcba")
      owner.didChangeValue(forKey: "ordered")
      try owner.managedObjectContext?.save()
      try store.read { fresh in
        let stored = fresh.object(with: owner.objectID).value(forKey: "ordered") as? NSOrderedSet
        try #expect(labels(#require(stored)) == "dcba")
      }
    }
  }

  @Test func setOperationsWork() throws {
    try withTags { _, owner, tags in
      let list = owner.mutableOrderedSetValue(forKey: "ordered")
      list.union(NSOrderedSet(array: [tags[3], tags[0]]))
      #expect(labels(list) == "abcd")
      list.minus(NSOrderedSet(array: [tags[1]]))
      #expect(labels(list) == "acd")
      list.intersect(NSOrderedSet(array: [tags[3], tags[2]]))
      #expect(labels(list) == "cd" && list.index(of: tags[3]) == 1 && list.contains(tags[2]) && !list.contains(tags[0]))
      list.addObjects(from: [tags[1], tags[0]])
      #expect(labels(list) == "cdba" && list.lastObject as? NSManagedObject == tags[0])
      list.removeAllObjects()
      #expect(list.count == 0 && labels(list) == "" && tags.allSatisfy { $0.members("orderedBy").isEmpty })
    }
  }

  @Test func theListFollowsTheRelationship() throws {
    try withTags { _, owner, tags in
      let list = owner.mutableOrderedSetValue(forKey: "ordered")
      tags[3].addObject(owner, toRelationship: "orderedBy")
      #expect(labels(list) == "abcd" && list.lastObject as? NSManagedObject == tags[3])
      tags[1].setValue(NSSet(), forKey: "orderedBy")
      #expect(labels(list) == "acd")
      owner.setValue(NSOrderedSet(array: [tags[2], tags[0]]), forKey: "ordered")
      #expect(labels(list) == "ca")
      #expect(owner.mutableOrderedSetValue(forKey: "ordered") === list)
      owner.managedObjectContext?.refresh(owner, mergeChanges: false)
      #expect(list.count == 3 && labels(list) == "abc")
    }
  }

  @Test(arguments: ["tags", "primitive tags"])
  func whatIsNoManagedObjectCannotBeAdded(_ view: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [view] in
      let store = try TemporaryStore()
      try store.read { context in
        let book = context.make("Book")
        let tags: Any? = view == "tags" ? book.mutableSetValue(forKey: view) : book.primitiveValue(forKey: "tags")
        (tags as? NSMutableSet)?.add("no object")
      }
    }
    expectSentence(result, "Book.tags holds managed objects", "String")
  }

  @Test func anUnorderedRelationshipHasNoList() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      try store.read { context in _ = context.make("Book").mutableOrderedSetValue(forKey: "tags") }
    }
    expectSentence(result, "Book.tags is not ordered")
  }
}
