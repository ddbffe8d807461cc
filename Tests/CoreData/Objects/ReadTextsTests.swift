import TestFiles
import Testing

@testable import CoreData

/// Texts that an object keeps once they were read again.
@Suite struct ReadTextsTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  /// Longer than the texts that a String holds in itself.
  private static func text(_ name: String) -> String { "\(name), which is long enough to need memory" }

  init() throws {
    store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": Self.text("first"), "pages": 1]) }
    context = store.context()
  }

  private func book() throws -> NSManagedObject { try #require(try context.all("Book").first) }

  private func expect(
    _ title: String, of book: NSManagedObject, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for _ in 1...3 {
      #expect(book[ManagedProperty<String?>("title")] == title, sourceLocation: sourceLocation)
      #expect(book.value(forKey: "title") as? String == title, sourceLocation: sourceLocation)
      #expect(
        NSPredicate(format: "title == %@", title).evaluate(with: book), sourceLocation: sourceLocation)
    }
  }

  private func hasTexts(_ object: NSManagedObject) -> Bool {
    if case .texts = object.attachment { true } else { false }
  }

  @Test func theSecondReadingKeepsATextAndAFaultHasNone() throws {
    try context.performAndWait {
      let book = try book()
      let title = ManagedProperty<String?>("title")
      #expect(book[title] == Self.text("first"))
      #expect(!hasTexts(book))
      #expect(book[title] == Self.text("first"))
      #expect(hasTexts(book))
      context.refresh(book, mergeChanges: false)
      #expect(!hasTexts(book))
      expect(Self.text("first"), of: book)
    }
  }

  @Test func keptTextsFollowEachChange() throws {
    try context.performAndWait {
      let book = try book()
      expect(Self.text("first"), of: book)
      book.setValue(Self.text("second"), forKey: "title")
      expect(Self.text("second"), of: book)
      context.rollback()
      expect(Self.text("first"), of: book)
      book.setValue(nil, forKey: "title")
      #expect(book[ManagedProperty<String?>("title")] == nil)
      context.rollback()
      expect(Self.text("first"), of: book)
      // Given: another coordinator writes.
      let rival = try store.otherCoordinator().context()
      try rival.performAndWait {
        try #require(try rival.all("Book").first).setValue(Self.text("third"), forKey: "title")
        try rival.save()
      }
      expect(Self.text("first"), of: book)
      book.setValue(2, forKey: "pages")
      expect(Self.text("first"), of: book)
      context.refresh(book, mergeChanges: true)
      expect(Self.text("third"), of: book)
      try context.save()
      expect(Self.text("third"), of: book)
      context.refresh(book, mergeChanges: false)
      expect(Self.text("third"), of: book)
    }
  }

  @Test func eachPropertyHasItsOwnText() throws {
    // Given: more texts than an object has bits for what was read.
    let names = (0..<9).map { "text\($0)" }
    let model = NSManagedObjectModel()
    model.entities = [LibraryModel.entity("Cell", names.map { LibraryModel.attribute($0, .stringAttributeType) })]
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Cell", Dictionary(uniqueKeysWithValues: names.map { ($0, Self.text($0)) }))
    }
    let context = store.context()
    try context.performAndWait {
      let cell = try #require(try context.all("Cell").first)
      for _ in 1...4 {
        for name in names.shuffled() { #expect(cell[ManagedProperty<String?>(name)] == Self.text(name)) }
      }
    }
  }

  @Test func aPartialFaultKeepsNoTextOfAnotherRow() throws {
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.propertiesToFetch = ["title"]
      request.returnsObjectsAsFaults = true
      let book = try #require(try context.fetch(request).first)
      expect(Self.text("first"), of: book)
      #expect(book.value(forKey: "pages") as? Int == 1)
      expect(Self.text("first"), of: book)
    }
  }
}
