import Testing

@testable import CoreData

/// Derived attributes whose source is a row at the other end of a relationship, in every store that computes them.
@Suite("Derived attributes of other rows", .serialized) struct DerivedRowsTests {
  private static let kinds = StoreKind.allCases.filter { $0 != .shelf && $0 != .cards }

  private let model = LibraryModel.makeWithDerivedAttributes([
    "upper", "authorName", "authorUpper", "tagCount", "tagsOfBooks", "lastTag",
  ])

  @Test("They follow a row that changes alone, in the store and in objects that are refreshed", arguments: kinds)
  func following(kind: StoreKind) throws {
    let stack = try StoreStack(kind, model)
    let context = stack.context()
    try context.performAndWait {
      let (author, tag) = (context.make("Author", ["name": "Ada"]), context.make("Tag", ["label": "a"]))
      let book = context.make("Book", ["title": "Notes", "author": author, "tags": Set([tag])])
      try context.save()
      func check(_ name: String, _ label: String, count: Int) throws {
        context.refreshAllObjects()
        #expect(book.value(forKey: "d_authorName") as? String == name)
        #expect(book.value(forKey: "d_authorUpper") as? String == name.uppercased())
        #expect(book.value(forKey: "d_lastTag") as? String == label)
        #expect(author.value(forKey: "d_tagsOfBooks") as? Int == count)
        try #expect(context.all("Book", where: "d_authorName == '\(name)' AND d_lastTag == '\(label)'") == [book])
      }
      try check("Ada", "a", count: 1)
      author.setValue("Bob", forKey: "name")
      try context.save()
      try check("Bob", "a", count: 1)
      tag.setValue("b", forKey: "label")
      try context.save()
      try check("Bob", "b", count: 1)
      book.setValue(Set([tag, context.make("Tag", ["label": "c"])]), forKey: "tags")
      try context.save()
      try check("Bob", "c", count: 2)
    }
    // It removes the store's files when it is freed.
    withExtendedLifetime(stack) {}
  }
}
