import CoreData
import Testing

/// The file's triggers compute derived attributes: saves do not write them, and a refresh shows the computed value.
@Suite struct DerivedValueTests {
  private func model() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    LibraryModel.addBookCount(to: model)
    return model
  }

  @Test func countsFollowEverySaveWhatOrderSoever() throws {
    let store = try TemporaryStore(model())
    let id = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for number in 0..<3 { context.make("Book", ["title": "\(number)", "author": author]) }
      return author
    }.objectID
    func count() throws -> Int? { try store.read { $0.object(with: id).value(forKey: "bookCount") as? Int } }
    try #expect(count() == 3)
    try store.save { $0.make("Book", ["title": "new", "author": $0.object(with: id)]) }
    try #expect(count() == 4)
    // Saving the author with an old count in memory does not restore that count.
    try store.save { context in
      let author = context.object(with: id)
      #expect(author.value(forKey: "bookCount") as? Int == 4)
      try store.save { $0.delete(try $0.all("Book")[0]) }
      context.refresh(author, mergeChanges: false)
      #expect(author.value(forKey: "bookCount") as? Int == 3)
      author.setValue("Eve", forKey: "name")
      author.setValue(77, forKey: "bookCount")
    }
    try #expect(count() == 3)
    try store.save { context in
      for book in try context.all("Book") { book.setValue(context.make("Author", ["name": "Bob"]), forKey: "author") }
    }
    try #expect(count() == 0)
    try #expect(store.sql("SELECT ZBOOKCOUNT FROM ZAUTHOR ORDER BY Z_PK") == [["0"], ["1"], ["1"], ["1"]])
  }
}
