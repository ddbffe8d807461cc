import Testing

@testable import CoreData

/// Models with names that differ only in case.
@Suite struct NamesInCaseTests {
  private func model(_ first: NSEntityDescription, _ others: NSEntityDescription...) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [first] + others
    return model
  }

  @Test("A store whose format cannot keep two entities apart names both", arguments: [StoreKind.file, .xml])
  func entities(kind: StoreKind) {
    let attribute = { LibraryModel.attribute("title", .stringAttributeType) }
    let model = model(LibraryModel.entity("Book", [attribute()]), LibraryModel.entity("BOOK", [attribute()]))
    let error = #expect(throws: (any Error).self) { try StoreStack(kind, model) } as NSError?
    #expect(error?.code == 134020)
    for name in ["Book", "BOOK"] { #expect(error?.localizedDescription.contains(name) == true) }
  }

  @Test(
    "An XML store refuses two such attributes; the others keep their values apart",
    arguments: [StoreKind.file, .memory, .binary, .xml])
  func attributes(kind: StoreKind) throws {
    let names = ["title", "Title"]
    let model = model(LibraryModel.entity("Book", names.map { LibraryModel.attribute($0, .stringAttributeType) }))
    if kind == .xml {
      let error = #expect(throws: NSError.self) { try StoreStack(kind, model) }
      #expect(error?.code == 134020 && error?.localizedDescription.contains("Title and title") == true)
      return
    }
    try StoreStack(kind, model).perform { context in
      let book = context.make("Book", ["title": "a", "Title": "b"])
      try context.save()
      context.refreshAllObjects()
      #expect(book.text("title") == "a" && book.text("Title") == "b")
    }
  }
}
