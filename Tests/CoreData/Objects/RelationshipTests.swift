import CoreData
import Testing

@Suite struct RelationshipTests {
  @Test func settingOneEndSetsTheOther() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let ada = context.make("Author", ["name": "Ada"])
      let bob = context.make("Author", ["name": "Bob"])
      let book = context.make("Book", ["title": "One", "author": ada])
      #expect(ada.members("books") == [book])
      book.setValue(bob, forKey: "author")
      #expect(ada.members("books").isEmpty)
      #expect(bob.members("books") == [book])
      ada.setValue(Set([book]), forKey: "books")
      #expect(book.object("author") === ada)
      #expect(bob.members("books").isEmpty)
      ada.setValue(nil, forKey: "books")
      #expect(book.object("author") == nil)
    }
  }

  @Test func oneToOneMovesFromPartnerToPartner() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let ada = context.make("Author", ["name": "Ada"])
      let bob = context.make("Author", ["name": "Bob"])
      let first = context.make("Passport", ["number": "1", "holder": ada])
      let second = context.make("Passport", ["number": "2", "holder": bob])
      try context.save()
      // Ada takes Bob's passport: hers has no holder then, and Bob has none.
      ada.setValue(second, forKey: "passport")
      #expect(second.object("holder") === ada)
      #expect(first.object("holder") == nil)
      #expect(bob.object("passport") == nil)
    }
    try #expect(
      store.sql("SELECT ZNUMBER, ZHOLDER FROM ZPASSPORT ORDER BY ZNUMBER") == [["1", nil], ["2", "1"]])
    try #expect(store.sql("SELECT ZNAME, ZPASSPORT FROM ZAUTHOR ORDER BY ZNAME") == [["Ada", "2"], ["Bob", nil]])
  }

  @Test func bothEndsAreUpdatedAndATomanyFaultIsNotFired() throws {
    let store = try TemporaryStore()
    let (author, other) = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for number in 0..<5 { context.make("Book", ["title": "\(number)", "author": author]) }
      return (author, context.make("Book", ["title": "other"]))
    }
    let (authorID, otherID) = (author.objectID, other.objectID)
    try store.read { context in
      let author = context.object(with: authorID)
      let other = context.object(with: otherID)
      other.setValue(author, forKey: "author")
      #expect(author.isFault && author.hasFault(forRelationshipNamed: "books"))
      #expect(context.updatedObjects == [author, other])
      try context.save()
      #expect(author.isFault)
      #expect(author.members("books").count == 6)
    }
    // Both rows get a new version, so that changing the same relationship elsewhere is a conflict.
    try #expect(store.sql("SELECT Z_OPT FROM ZAUTHOR") == [["2"]])
    try #expect(store.sql("SELECT Z_OPT FROM ZBOOK WHERE ZTITLE = 'other'") == [["2"]])
  }

  @Test func manyToManyIsWrittenFromEitherEnd() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let books = (0..<3).map { context.make("Book", ["title": "\($0)"]) }
      let tags = (0..<2).map { context.make("Tag", ["label": "t\($0)"]) }
      books[0].mutableSetValue(forKey: "tags").add(tags[0])
      tags[0].mutableSetValue(forKey: "books").add(books[1])
      tags[1].setValue(NSSet(array: books), forKey: "books")
      #expect(books[1].members("tags") == Set(tags))
    }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["5"]])
    try store.save { context in
      let book = try context.all("Book", where: "title == '1'")[0]
      book.mutableSetValue(forKey: "tags").removeAllObjects()
    }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["3"]])
    try store.read { context in
      try #expect(context.all("Tag", where: "label == 't1'")[0].members("books").count == 2)
    }
  }

  @Test func addingAndRemovingOnAnUnreadTomanyIsRight() throws {
    let store = try TemporaryStore()
    let (book, tag) = try store.save { context in
      let book = context.make("Book", ["title": "One"])
      let tag = context.make("Tag", ["label": "t"])
      book.addObject(tag, toRelationship: "tags")
      return (book, tag)
    }
    let (bookID, tagID) = (book.objectID, tag.objectID)
    // A member that is added again and then removed is gone.
    try store.save { context in
      let book = context.object(with: bookID)
      book.addObject(context.object(with: tagID), toRelationship: "tags")
      book.removeObject(context.object(with: tagID), fromRelationship: "tags")
    }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["0"]])
    // An object that is removed without being a member and then added is there.
    try store.save { context in
      let book = context.object(with: bookID)
      book.removeObject(context.object(with: tagID), fromRelationship: "tags")
      book.addObject(context.object(with: tagID), toRelationship: "tags")
    }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
    try store.read { context in
      let book = context.object(with: bookID)
      let tag = context.object(with: tagID)
      book.addObject(tag, toRelationship: "tags")
      #expect(book.members("tags") == [tag])
      #expect(book.changedValues().isEmpty)
      book.removeObject(tag, fromRelationship: "tags")
      #expect(book.members("tags").isEmpty)
      #expect(tag.members("books").isEmpty)
    }
  }

  @Test func newObjectsThatReferToEachOtherAndToThemselvesAreSaved() throws {
    let node = LibraryModel.entity("Node", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(node, "children", node, "parent", toMany: (true, false))
    LibraryModel.relate(node, "next", node, "previous", toMany: (false, false))
    let model = NSManagedObjectModel()
    model.entities = [node]
    let store = try TemporaryStore(model)
    let ids = try store.save { context in
      let first = context.make("Node", ["name": "first"])
      let second = context.make("Node", ["name": "second", "parent": first])
      first.setValue(second, forKey: "next")
      second.setValue(first, forKey: "next")
      first.setValue(first, forKey: "parent")
      return [first, second]
    }.map(\.objectID)
    try #expect(
      store.sql(
        """
        SELECT n.ZNAME, p.ZNAME, x.ZNAME, v.ZNAME FROM ZNODE n JOIN ZNODE p ON p.Z_PK = n.ZPARENT
        JOIN ZNODE x ON x.Z_PK = n.ZNEXT JOIN ZNODE v ON v.Z_PK = n.ZPREVIOUS ORDER BY n.ZNAME
        """) == [["first", "first", "second", "second"], ["second", "first", "first", "first"]])
    try store.read { context in
      let first = context.object(with: ids[0])
      #expect(first.object("parent") === first)
      #expect(first.members("children").count == 2)
      #expect(first.object("next")?.object("next") === first)
    }
  }

  @Test func relationsSurviveTheSaveInTheSameContext() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "One", "author": author])
      try context.save()
      #expect(book.object("author") === author)
      #expect(author.members("books") == [book])
      book.setValue("Two", forKey: "title")
      try context.save()
      try #expect(store.sql("SELECT ZAUTHOR, Z_OPT FROM ZBOOK") == [["1", "2"]])
      let second = context.make("Book", ["title": "Three"])
      author.mutableSetValue(forKey: "books").add(second)
      try context.save()
      try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR = 1") == [["2"]])
    }
  }

  @Test func keyPathsGoThroughRelationships() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "One", "pages": 3, "author": author])
      context.make("Book", ["title": "Two", "pages": 4, "author": author])
      #expect(book.value(forKeyPath: "author.name") as? String == "Ada")
      #expect(author.value(forKeyPath: "books.@count") as? Int == 2)
      #expect((author.value(forKeyPath: "books.@sum.pages") as? NSNumber)?.intValue == 7)
      book.setValue("Eve", forKeyPath: "author.name")
      #expect(author.text("name") == "Eve")
    }
  }

  @Test func theValueOfAToManyIsAMutableSetOfItsOwn() throws {
    try TemporaryStore().read { context in
      let book = context.make("Book", ["title": "One"])
      let (one, two) = (context.make("Tag", ["books": Set([book])]), context.make("Tag"))
      let tags = try #require(book.value(forKey: "tags") as? NSMutableSet)
      tags.add(two)
      tags.remove(one)
      #expect(book.members("tags") == [one])
      book.setValue(tags, forKey: "tags")
      #expect(book.members("tags") == [two])
      one.setValue([two], forKey: "ordered")
      let ordered = try #require(one.value(forKey: "ordered") as? NSMutableOrderedSet)
      ordered.insert(one, at: 0)
      #expect((one.value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject] == [two])
      one.setValue(ordered, forKey: "ordered")
      #expect((one.value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject] == [one, two])
    }
  }

  @Test func changedAndCommittedValuesTellTheDifference() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "One", "pages": 3])
      try context.save()
      #expect(book.changedValues().isEmpty)
      book.setValue("Two", forKey: "title")
      book.setValue(author, forKey: "author")
      book.setValue(3, forKey: "pages")
      let changes = book.changedValues()
      #expect(Set(changes.keys) == ["title", "author"])
      #expect(changes["author"] as? NSManagedObject === author)
      #expect(book.committedValues(forKeys: ["title", "author"])["title"] as? String == "One")
      #expect(book.committedValues(forKeys: ["title", "author"])["author"] is NSNull)
      #expect(book.hasPersistentChangedValues)
      book.setValue(nil, forKey: "author")
      book.setValue("One", forKey: "title")
      #expect(book.hasChanges && !book.hasPersistentChangedValues)
    }
  }
}
