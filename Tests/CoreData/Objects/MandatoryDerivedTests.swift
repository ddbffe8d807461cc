import CoreData
import Testing

@Suite struct MandatoryDerivedTests {
  /// As on Apple's platforms, where derived attributes are therefore optional: the store computes the value too late.
  @Test func aNewObjectWithAMandatoryDerivedAttributeIsRefused() throws {
    let model = LibraryModel.make()
    LibraryModel.addBookCount(to: model)
    model.entitiesByName["Author"]?.propertiesByName["bookCount"]?.isOptional = false
    let store = try TemporaryStore(model)
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      expectError(1570) { try context.save() }
      author.setValue(0, forKey: "bookCount")
      try context.save()
      author.setValue("Bob", forKey: "name")
      try context.save()
    }
  }
}
