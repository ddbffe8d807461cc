import TestFiles
import Testing

@testable import CoreData

/// What unsaved values mean for the conditions of a fetch: the same in every store, and no matter whether the store
/// evaluates the condition.
@Suite struct UnsavedValuesTests {
  /// A store of an app's own class evaluates predicates as it likes.
  static let kinds = StoreKind.allCases.filter { $0 != .shelf }

  @Test(
    arguments: kinds,
    [
      // A server evaluates the first two itself.
      "author.name BEGINSWITH 'J'", "author.name MATCHES 'J.*'", "author.name MATCHES '(?i)j.*'",
      "title MATCHES '(?i)[ab]' AND author.name MATCHES '(?i)j.*'",
    ])
  func conditionsOnOtherObjectsSeeStoredValues(kind: StoreKind, format: String) throws {
    let stack = try StoreStack(kind)
    let context = stack.context()
    try context.performAndWait {
      let (jane, ada) = (context.make("Author", ["name": "Jane"]), context.make("Author", ["name": "Ada"]))
      let books = [("a", jane), ("b", ada)].map { context.make("Book", ["title": $0, "author": $1]) }
      try context.save()
      // Given authors who have exchanged their names.
      jane.setValue("Ada", forKey: "name")
      ada.setValue("Jane", forKey: "name")
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = NSPredicate(format: format)
      func check(_ expected: [NSManagedObject], line: Int = #line) throws {
        request.fetchLimit = 0
        try #expect(Set(context.fetch(request)) == Set(expected), "line \(line)")
        try #expect(context.count(for: request) == expected.count, "line \(line)")
        request.fetchLimit = 1
        try #expect(context.fetch(request).count == min(1, expected.count), "line \(line)")
      }
      // Then a book that did not change is found by the stored name.
      try check([books[0]])
      // And one that changed by what it has in the context.
      books[0].setValue(1, forKey: "pages")
      try check([])
      books[1].setValue(1, forKey: "pages")
      try check([books[1]])
      request.includesPendingChanges = false
      try check([books[0]])
    }
  }

  /// Without unsaved changes that count, an object's own values are the stored ones, too.
  @Test(arguments: kinds, ["title MATCHES 'a'", "title MATCHES '(?i)A'", "title == 'a'"])
  func ownUnsavedValuesCountUnlessTheyAreLeftOut(kind: StoreKind, format: String) throws {
    let stack = try StoreStack(kind)
    let context = stack.context()
    try context.performAndWait {
      let books = ["a", "b"].map { context.make("Book", ["title": $0]) }
      try context.save()
      books[0].setValue("b", forKey: "title")
      books[1].setValue("a", forKey: "title")
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = NSPredicate(format: format)
      try #expect(context.fetch(request) == [books[1]])
      request.includesPendingChanges = false
      try #expect(context.fetch(request) == [books[0]])
      try #expect(context.count(for: request) == 1)
      #expect(books[0].text("title") == "b" && context.updatedObjects.count == 2)
    }
  }
}
