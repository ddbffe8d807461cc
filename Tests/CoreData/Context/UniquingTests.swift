import CoreData
import Testing

@Suite struct UniquingTests {
  @Test func oneInstancePerIDHoweverItIsReached() throws {
    let store = try TemporaryStore()
    let (author, book) = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      return (author, context.make("Book", ["title": "One", "author": author]))
    }
    let (authorID, bookID) = (author.objectID, book.objectID)
    try store.read { context in
      let fetched = try context.all("Book")[0]
      #expect(context.object(with: bookID) === fetched)
      try #expect(context.existingObject(with: bookID) === fetched)
      #expect(context.object(with: authorID).members("books").first === fetched)
      #expect(fetched.object("author") === context.object(with: authorID))
      try #expect(context.all("Book")[0] === fetched)
    }
  }

  @Test func cleanObjectsThatNobodyHoldsLeaveTheContext() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<20 { _ = context.make("Book", ["title": "\(number)"]) } }
    try store.read { context in
      do {
        let books = try context.all("Book")
        for book in books { _ = book.text("title") }
        withExtendedLifetime(books) { #expect(context.registeredObjects.count == 20) }
      }
      #expect(context.registeredObjects.isEmpty)
      let kept = try context.all("Book")[3]
      #expect(context.registeredObjects == [kept])
    }
  }

  @Test func retainsRegisteredObjectsKeepsThem() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<5 { _ = context.make("Book", ["title": "\(number)"]) } }
    try store.read { context in
      context.retainsRegisteredObjects = true
      for book in try context.all("Book") { _ = book.text("title") }
      #expect(context.registeredObjects.count == 5)
    }
  }

  /// Far more objects than the context keeps before it drops unheld ones.
  @Test func noChangeIsLostWhenUnheldObjectsAreLetGo() throws {
    let store = try TemporaryStore()
    let count = 12_000
    try store.save { context in
      for number in 0..<count { context.make("Book", ["title": "b\(number)", "pages": number]) }
    }
    try store.read { context in
      // Every third is changed and dropped at once; the rest is only read.
      for (number, book) in try context.all("Book", sort: "pages").enumerated() {
        _ = book.text("title")
        if number % 3 == 0 { book.setValue("changed", forKey: "title") }
      }
      #expect(context.registeredObjects.count == count / 3)
      for number in 0..<count { _ = context.make("Tag", ["label": "t\(number)"]) }
      _ = try context.all("Book", sort: "pages")
      #expect(context.updatedObjects.count == count / 3)
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'changed'") == [["4000"]])
    try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["12000"]])
  }

  @Test func anObjectHeldOnlyByARelationshipStaysTheSame() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for number in 0..<10 { _ = context.make("Book", ["title": "\(number)", "author": author]) }
    }
    try store.read { context in
      let author = try context.all("Author")[0]
      let identities = Set(author.members("books").map(ObjectIdentifier.init))
      _ = context.registeredObjects
      try #expect(Set(context.all("Book").map(ObjectIdentifier.init)) == identities)
    }
  }

  @Test func anObjectThatNobodyHeldIsReadAnewWhenItComesBack() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      #expect(context.object(with: id).text("title") == "One")
      try store.save { $0.object(with: id).setValue("Two", forKey: "title") }
      #expect(context.object(with: id).text("title") == "Two")
    }
  }
}
