import CoreData
import Testing

/// Values by name that a class computes: by overrides, and by properties that a table lists.
@Suite struct OverriddenValueTests {
  private func withBooks(
    _ type: NSManagedObject.Type, _ body: (NSManagedObjectContext, [NSManagedObject]) throws -> Void
  ) throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(type)
    try TemporaryStore(model).read { context in
      let books = ["Emma", "Eva", "Faust"].map { context.make("Book", ["title": $0, "pages": $0.count]) }
      try body(context, books)
    }
  }

  private func sections(_ keyPath: String, in context: NSManagedObjectContext) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: keyPath, cacheName: nil)
    try controller.performFetch()
    return controller.sections?.map(\.name) ?? []
  }

  @Test func anOverrideServesKeyPathsPredicatesSortingAndSections() throws {
    try withBooks(OverridingBook.self) { context, books in
      #expect(books[0].value(forKey: "initial") as? String == "E")
      #expect(books[0].value(forKeyPath: "initial.length") as? Int == 1)
      #expect(books[0].value(forKeyPath: "title") as? String == "Emma, read")
      #expect(NSPredicate(format: "initial == 'F'").evaluate(with: books[2]))
      #expect(NSPredicate(format: "title == 'Eva, read'").evaluate(with: books[1]))
      let descending = NSSortDescriptor(key: "initial", ascending: false)
      #expect((books as NSArray).sortedArray(using: [descending]).first as? NSManagedObject === books[2])
      try #expect(sections("initial", in: context) == ["E", "F"])
      try #expect(sections("title", in: context) == ["Emma, read", "Eva, read", "Faust, read"])
      #expect(books[0].dictionaryWithValues(forKeys: ["initial"])["initial"] as? String == "E")
    }
  }

  @Test func accessorsAndSavesDoNotCallTheOverride() throws {
    try withBooks(OverridingBook.self) { context, books in
      let book = try #require(books[0] as? OverridingBook)
      book.calls = 0
      #expect(book[ManagedProperty<String?>("title")] == "Emma")
      #expect(book.calls == 0)
      book[ManagedProperty<NSNumber?>("pages")] = 5
      try context.save()
      #expect(book.calls == 0)
      book.setValue("Ida", forKey: "title")
      #expect(book.calls == 1 && book[ManagedProperty<String?>("title")] == "Ida!")
    }
  }

  @Test func computedPropertiesOfATableAreReadByName() throws {
    try withBooks(ComputingBook.self) { context, books in
      #expect(books[0].value(forKey: "initial") as? String == "E")
      #expect(books[0].value(forKey: "sheets") is NSNumber && books[0].value(forKey: "sheets") as? Int == 2)
      #expect(books[0].value(forKey: "missing") == nil)
      #expect(NSPredicate(format: "initial == 'F' AND sheets == 2").evaluate(with: books[2]))
      try #expect(sections("initial", in: context) == ["E", "F"])
      KeyPathNames.register([\ComputingBook.last: "last"])
      #expect(books[0].value(forKey: "last") as? String == "a")
    }
  }

  @Test func anUnknownKeyStillEndsTheProcess() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let model = LibraryModel.make()
      model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(ComputingBook.self)
      try TemporaryStore(model).read { _ = $0.make("Book").value(forKey: "nothing") }
    }
    expectSentence(result, "not key value coding-compliant for the key \"nothing\"")
  }

  @Test func aMethodOfTheTableValidatesItsProperty() throws {
    try withBooks(ComputingBook.self) { context, books in
      try context.save()
      books[0].setValue(-1, forKey: "pages")
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == 7 && error?.userInfo["pages"] as? Int == -1)
      books[0].setValue(1, forKey: "pages")
      try context.save()
      // The model's rules come first.
      books[0].setValue(nil, forKey: "title")
      expectError(NSValidationMissingMandatoryPropertyError) { try context.save() }
    }
  }

  @Test func aValueIsValidatedThroughAPointerAsOnAMac() throws {
    try withBooks(ComputingBook.self) { _, books in
      var value: AnyObject? = NSNumber(value: -2)
      #expect(throws: NSError.self) { try books[0].validateValue(&value, forKey: "pages") }
      value = NSNumber(value: 1000)
      try books[0].validateValue(&value, forKey: "pages")
      #expect(value as? Int == 999)
    }
  }
}

final class OverridingBook: NSManagedObject {
  var calls = 0

  override func value(forKey key: String) -> Any? {
    calls += 1
    switch key {
    case "initial": return self[ManagedProperty<String?>("title")]?.prefix(1).description
    case "title": return self[ManagedProperty<String?>("title")].map { $0 + ", read" }
    default: return super.value(forKey: key)
    }
  }

  override func setValue(_ value: Any?, forKey key: String) {
    calls += 1
    super.setValue(value as? String == "Ida" ? "Ida!" : value, forKey: key)
  }
}

final class ComputingBook: NSManagedObject {
  var initial: String { (value(forKey: "title") as? String ?? "").prefix(1).description }
  var sheets: Int { (value(forKey: "pages") as? Int ?? 0) / 2 }
  var missing: String? { nil }
  var last: String { (value(forKey: "title") as? String ?? "").suffix(1).description }

  func validatePages(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    let pages = value.pointee as? Int ?? 0
    if pages < 0 { throw NSError(domain: "Books", code: 7, userInfo: ["pages": pages]) }
    if pages > 999 { value.pointee = NSNumber(value: 999) }
  }
}

// The form of generated code.
@usableFromInline enum ComputingBookTable: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { ComputingBook.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] {
    [\ComputingBook.initial: "initial", \ComputingBook.sheets: "sheets", \ComputingBook.missing: "missing"]
  }
  @usableFromInline static var validations: [String: ManagedValidation] {
    ["pages": { try ($0 as! ComputingBook).validatePages($1) }]
  }
}
