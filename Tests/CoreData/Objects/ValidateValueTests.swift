import CoreData
import Testing

/// A book that checks each of its values itself.
final class CheckedBook: NSManagedObject {
  var asked: [String] = []

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
    asked.append(key)
    if key == "rating", let rating = value as? Double, rating > 5 {
      throw NSError(domain: "Books", code: 5, userInfo: [NSValidationKeyErrorKey: key])
    }
  }
}

/// Inherits the check.
final class CheckedComic: NSManagedObject {}

@Suite struct ValidateValueTests {
  private func store() throws -> TemporaryStore {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(CheckedBook.self)
    return try TemporaryStore(model)
  }

  @Test func aClassIsAskedAboutEachValueOfANewObjectAndEachChangedOneOfAnother() throws {
    try store().read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? CheckedBook)
      try context.save()
      #expect(Set(book.asked) == Set(book.entity.propertiesByName.keys))
      book.asked.removeAll()
      book.setValue(8, forKey: "pages")
      book.setValue(Set([context.make("Tag")]), forKey: "tags")
      try context.save()
      // The mandatory title is checked whether or not it changed.
      #expect(book.asked.sorted() == ["pages", "tags", "title"])
    }
  }

  @Test func whatTheClassThrowsFailsTheSave() throws {
    try store().read { context in
      let book = context.make("Book", ["title": "One", "rating": 6.0])
      #expect {
        try context.save()
      } throws: { ($0 as NSError).domain == "Books" && ($0 as NSError).code == 5 }
      book.setValue(nil, forKey: "title")
      #expect {
        try context.save()
      } throws: {
        let codes = (($0 as NSError).userInfo[NSDetailedErrorsKey] as? [NSError])?.map(\.code)
        return codes?.sorted() == [5, 1570]
      }
    }
  }

  @Test func aSingleValueCanBeValidatedWithoutSaving() throws {
    try TemporaryStore().read { context in
      let book = context.make("Book")
      var value: Any?
      #expect {
        try book.validateValue(&value, forKey: "title")
      } throws: { ($0 as NSError).code == 1570 }
      value = "One"
      try book.validateValue(&value, forKey: "title")
    }
  }
}
