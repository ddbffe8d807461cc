import CoreData
import Testing

/// Objects that are made and related without a context, and inserted later.
@Suite struct LooseObjectTests {
  // MARK: Before there is a context

  @Test func aLooseObjectKnowsItsPartners() throws {
    let library = try LooseLibrary()
    let (ada, bob) = (library.make("Author", ["name": "Ada"]), library.make("Author", ["name": "Bob"]))
    let book = library.make("Book", ["title": "One", "author": ada])
    #expect(book.object("author") === ada)
    #expect(ada.members("books") == [book])
    #expect(!book.hasFault(forRelationshipNamed: "author") && !ada.hasFault(forRelationshipNamed: "books"))
    #expect(book.objectIDs(forRelationshipNamed: "author") == [ada.objectID])
    #expect(book.value(forKeyPath: "author.name") as? String == "Ada")
    #expect(NSPredicate(format: "author.name == 'Ada' AND author.books.@count == 1").evaluate(with: book))
    book.setValue(bob, forKey: "author")
    #expect(ada.members("books").isEmpty && bob.members("books") == [book])
    bob.removeObject(book, fromRelationship: "books")
    #expect(book.object("author") == nil)
    let passport = library.make("Passport", ["holder": ada])
    #expect(ada.object("passport") === passport)
    bob.setValue(passport, forKey: "passport")
    #expect(ada.object("passport") == nil && passport.object("holder") === bob)
    #expect(book.managedObjectContext == nil && ada.managedObjectContext == nil)
  }

  @Test func handwrittenAccessorsSetTheInverse() throws {
    let library = try LooseLibrary()
    let ada = library.make("Author", ["name": "Ada"])
    let book = library.make("Book", ["title": "One"])
    book.willChangeValue(forKey: "author")
    book.setPrimitiveValue(ada, forKey: "author")
    book.didChangeValue(forKey: "author")
    #expect(book.primitiveValue(forKey: "author") as? NSManagedObject === ada)
    #expect(ada.members("books") == [book])
  }

  @Test func aLongChainIsFreedAndInsertedWithoutDeepRecursion() throws {
    let node = LibraryModel.entity("Node", [LibraryModel.attribute("number", .integer64AttributeType)])
    LibraryModel.relateOneWay(node, "next", node, toMany: false)
    let model = NSManagedObjectModel()
    model.entities = [node]
    let store = try TemporaryStore(model)
    weak var last: NSManagedObject?
    func chain() -> NSManagedObject {
      var head = NSManagedObject(entity: node, insertInto: nil)
      last = head
      for number in 0..<40_000 {
        let object = NSManagedObject(entity: node, insertInto: nil)
        object.setValue(number, forKey: "number")
        object.setValue(head, forKey: "next")
        head = object
      }
      return head
    }
    do { _ = chain() }
    #expect(last == nil)
    try store.save { $0.insert(chain()) }
    try #expect(store.sql("SELECT count(*), count(ZNEXT) FROM ZNODE") == [["40001", "40000"]])
  }

  // MARK: Insertion

  @Test func insertingOneObjectBringsAllThatItLeadsTo() throws {
    for first in ["author", "book", "tag", "passport"] {
      let library = try LooseLibrary()
      let author = library.make("Author", ["name": "Ada"])
      let book = library.make("Book", ["title": "One", "author": author])
      let tag = library.make("Tag", ["label": "t"])
      // Both ends by hand, which changes nothing.
      tag.addObject(book, toRelationship: "books")
      book.addObject(tag, toRelationship: "tags")
      let passport = library.make("Passport", ["number": "1", "holder": author])
      let all = ["author": author, "book": book, "tag": tag, "passport": passport]
      try library.store.save { context in
        context.insert(try #require(all[first]))
        #expect(context.insertedObjects == Set(all.values))
        for object in all.values { context.insert(object) }
        #expect(book.object("author") === author && author.object("passport") === passport)
        #expect(tag.members("books") == [book])
      }
      try library.store.read { context in
        let passport = try #require(context.all("Passport").first)
        let author = try #require(passport.object("holder"))
        #expect(author.text("name") == "Ada" && author.object("passport") === passport)
        let book = try #require(author.members("books").first)
        #expect(book.text("title") == "One" && book.object("author") === author)
        #expect(book.members("tags").map { $0.text("label") } == ["t"], "\(first) first")
      }
    }
  }

  @Test func anOrderedRelationshipKeepsItsOrder() throws {
    let library = try LooseLibrary()
    let tags = (0..<20).map { library.make("Tag", ["label": "\($0)"]) }
    let top = library.make("Tag", ["label": "top"])
    let order = tags.reversed() as [NSManagedObject]
    for tag in order { top.addObject(tag, toRelationship: "ordered") }
    top.insertObjects([order[19]], at: NSIndexSet(index: 0), inRelationship: "ordered")
    top.mutableOrderedSetValue(forKey: "ordered").exchangeObject(at: 0, withObjectAt: 1)
    try library.store.save { context in
      // Members first, in an order of their own.
      for tag in tags { context.insert(tag) }
      #expect(top.managedObjectContext === context)
    }
    try library.store.read { context in
      let top = try context.all("Tag", where: "label == 'top'")[0]
      let ordered = try #require(top.value(forKey: "ordered") as? NSOrderedSet)
      let labels = ordered.array.map { ($0 as? NSManagedObject)?.text("label") }
      #expect(labels.prefix(3) == ["18", "19", "17"])
      #expect(labels.count == 20)
    }
  }

  @Test func aRelationshipWithoutInverseBringsItsObjectsOnly() throws {
    let (owner, target) = (LibraryModel.entity("Owner", []), LibraryModel.entity("Target", []))
    LibraryModel.relateOneWay(owner, "one", target, toMany: false)
    LibraryModel.relateOneWay(owner, "many", target, toMany: true)
    let model = NSManagedObjectModel()
    model.entities = [owner, target]
    let store = try TemporaryStore(model)
    let object = NSManagedObject(entity: owner, insertInto: nil)
    let targets = (0..<4).map { _ in NSManagedObject(entity: target, insertInto: nil) }
    object.setValue(targets[0], forKey: "one")
    object.setValue(Set(targets[1...2]), forKey: "many")
    try store.read { context in
      // The target does not lead back. It is saved before its owner comes, and has another ID then.
      context.insert(targets[0])
      #expect(context.insertedObjects == [targets[0]])
      try context.save()
      context.insert(object)
      #expect(context.insertedObjects == [object, targets[1], targets[2]])
      #expect(object.object("one") === targets[0])
      try context.save()
      #expect(targets[3].managedObjectContext == nil)
    }
    try store.read { context in
      let object = try context.all("Owner")[0]
      #expect(object.object("one")?.objectID == targets[0].objectID)
      #expect(Set(object.members("many").map(\.objectID)) == Set(targets[1...2].map(\.objectID)))
    }
  }

  // MARK: With objects of a context

  @Test func anObjectOfAContextBringsALooseOneThatItRefersTo() throws {
    let library = try LooseLibrary()
    try library.store.read { context in
      let saved = context.make("Author", ["name": "Saved"])
      try context.save()
      // Through the to-many end, the to-one end and the live set, from either side.
      let books = (0..<4).map { library.make("Book", ["title": "\($0)"]) }
      let tag = library.make("Tag", ["label": "t"])
      books[0].addObject(tag, toRelationship: "tags")
      books[0].setValue(saved, forKey: "author")
      saved.addObject(books[1], toRelationship: "books")
      saved.mutableSetValue(forKey: "books").add(books[2])
      let primitive = try #require(saved.primitiveValue(forKey: "books") as? NSMutableSet)
      primitive.add(books[3])
      #expect(context.insertedObjects == Set(books + [tag]))
      let passport = library.make("Passport", ["number": "1"])
      saved.setPrimitiveValue(passport, forKey: "passport")
      #expect(passport.managedObjectContext === context)
      books[3].setValue(saved, forKey: "author")
      try context.save()
    }
    try #expect(library.store.sql("SELECT count(*), count(ZAUTHOR) FROM ZBOOK") == [["4", "4"]])
    try #expect(library.store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
  }

  @Test func whatIsDeletedMeanwhileIsLeftOut() throws {
    let library = try LooseLibrary()
    try library.store.save { context in
      let author = library.make("Author", ["name": "Ada"])
      let books = (0..<3).map { library.make("Book", ["title": "\($0)", "author": author]) }
      books[0].setValue(nil, forKey: "author")
      context.insert(author)
      #expect(books[0].managedObjectContext == nil)
      context.delete(books[1])
    }
    try #expect(library.store.sql("SELECT ZTITLE, ZAUTHOR FROM ZBOOK") == [["2", "1"]])
    try library.store.save { context in
      // A cascade over objects that came along.
      let author = library.make("Author", ["name": "Bob"])
      library.make("Book", ["title": "3", "author": author])
      context.insert(author)
      context.delete(author)
    }
    try #expect(library.store.sql("SELECT count(*) FROM ZBOOK") == [["1"]])
  }

  @Test func anOwnerForgetsATargetWhoseDeletionWasSaved() throws {
    let (owner, target) = (LibraryModel.entity("Owner", []), LibraryModel.entity("Target", []))
    LibraryModel.relateOneWay(owner, "one", target, toMany: false)
    LibraryModel.relateOneWay(owner, "many", target, toMany: true)
    let model = NSManagedObjectModel()
    model.entities = [owner, target]
    let store = try TemporaryStore(model)
    try store.read { context in
      let object = NSManagedObject(entity: owner, insertInto: nil)
      let gone = NSManagedObject(entity: target, insertInto: context)
      try context.save()
      object.setValue(gone, forKey: "one")
      object.setValue(Set([gone]), forKey: "many")
      #expect(object.managedObjectContext == nil)
      context.delete(gone)
      try context.save()
      context.insert(object)
      #expect(object.object("one") == nil && object.members("many").isEmpty)
      try context.save()
    }
  }

  @Test func objectsAwakeWhenAllOfThemAreInserted() throws {
    let library = try LooseLibrary(LibraryModel.makeWithClasses())
    let author = library.make("Author", ["name": "Ada"])
    let book = try #require(library.make("Book", ["title": "One", "author": author]) as? RecordingBook)
    try library.store.save { context in
      context.insert(author)
      context.insert(book)
      #expect(book.calls == ["awakeFromInsert"])
    }
  }

  @Test func anInsertionOfAGraphIsUndone() throws {
    let library = try LooseLibrary()
    try library.store.read { context in
      context.undoManager = UndoManager()
      let author = library.make("Author", ["name": "Ada"])
      let book = library.make("Book", ["title": "One", "author": author])
      context.insert(book)
      context.processPendingChanges()
      context.undo()
      #expect(context.insertedObjects.isEmpty)
      context.redo()
      #expect(context.insertedObjects == [author, book])
      #expect(book.object("author") === author && author.members("books") == [book])
    }
  }

  @Test func aChildTakesAGraphToItsParent() throws {
    let library = try LooseLibrary()
    try library.store.read { parent in
      let child = parent.child()
      try child.performAndWait {
        let author = library.make("Author", ["name": "Ada"])
        library.make("Book", ["title": "One", "author": author])
        child.insert(author)
        try child.save()
      }
      try parent.save()
    }
    try #expect(library.store.sql("SELECT ZTITLE, ZAUTHOR FROM ZBOOK") == [["One", "1"]])
  }

  // MARK: Two contexts

  @Test func objectsOfTwoContextsCannotBeConnectedThroughALooseOne() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let library = try LooseLibrary()
      let (one, other) = (library.store.context(), library.store.context())
      let book = library.make("Book", ["title": "One"])
      one.performAndWait { book.setValue(one.make("Author"), forKey: "author") }
      other.performAndWait { book.addObject(other.make("Tag"), toRelationship: "tags") }
    }
    expectSentence(result, "relationship Book.tags between objects of different contexts")
  }

  @Test func anOwnerCannotBeInsertedElsewhereThanItsTarget() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (owner, target) = (LibraryModel.entity("Owner", []), LibraryModel.entity("Target", []))
      LibraryModel.relateOneWay(owner, "one", target, toMany: false)
      let model = NSManagedObjectModel()
      model.entities = [owner, target]
      let store = try TemporaryStore(model)
      let object = NSManagedObject(entity: owner, insertInto: nil)
      let partner = NSManagedObject(entity: target, insertInto: nil)
      object.setValue(partner, forKey: "one")
      let (one, other) = (store.context(), store.context())
      one.performAndWait { one.insert(partner) }
      other.performAndWait { other.insert(object) }
    }
    expectSentence(result, "its relationship Owner.one refers to", "which belongs to another context")
  }
}

/// Makes objects of the library's model that have no context.
private struct LooseLibrary {
  let store: TemporaryStore

  init(_ model: NSManagedObjectModel = LibraryModel.make()) throws { store = try TemporaryStore(model) }

  @discardableResult
  func make(_ name: String, _ values: [String: Any] = [:]) -> NSManagedObject {
    let entity = store.model.entitiesByName[name]!
    let type = NSClassFromString(entity.managedObjectClassName ?? "") as? NSManagedObject.Type ?? NSManagedObject.self
    let object =
      type == RecordingBook.self
      ? RecordingBook(entity: entity, insertInto: nil) : NSManagedObject(entity: entity, insertInto: nil)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }
}

extension LibraryModel {
  /// Adds a relationship without inverse.
  static func relateOneWay(
    _ owner: NSEntityDescription, _ name: String, _ destination: NSEntityDescription, toMany: Bool
  ) {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.destinationEntity = destination
    relationship.maxCount = toMany ? 0 : 1
    relationship.isOptional = true
    owner.properties += [relationship]
  }
}
