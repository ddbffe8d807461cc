import CoreData
import Testing

/// The methods that `FUNCTION` calls.
@Suite struct PredicateMethodTests {
  private static var row: [String: Any] {
    [
      "name": "Größe", "path": "/a/b.txt", "text": "42x", "age": 7, "price": Decimal(string: "1.50") as Any,
      "born": Date(timeIntervalSinceReferenceDate: 100), "tags": ["b", "a"], "data": Data([1, 2]), "void": NSNull(),
      "link": URL(string: "https://a.example/x.html") as Any,
    ]
  }

  @Test(
    "The common methods work",
    arguments: [
      "FUNCTION(name, 'length') == 5", "FUNCTION(name, 'uppercaseString') == 'GRÖSSE'",
      "FUNCTION(name, 'lowercaseString') == 'größe'", "FUNCTION('ab cd', 'capitalizedString') == 'Ab Cd'",
      "FUNCTION(name, 'substringToIndex:', 3) == 'Grö'", "FUNCTION(name, 'substringFromIndex:', 3) == 'ße'",
      "FUNCTION(name, 'substringToIndex:', 9) == nil", "FUNCTION(name, 'stringByAppendingString:', 'n') == 'Größen'",
      "FUNCTION(name, 'stringByReplacingOccurrencesOfString:withString:', 'ß', 'ss') == 'Grösse'",
      "FUNCTION('a,b', 'componentsSeparatedByString:', ',') == {'a', 'b'}", "FUNCTION(name, 'hasPrefix:', 'G') == YES",
      "FUNCTION(name, 'compare:', 'Z') == -1", "FUNCTION('A', 'caseInsensitiveCompare:', 'a') == 0",
      "FUNCTION(text, 'integerValue') == 42", "FUNCTION(text, 'doubleValue') == 42", "FUNCTION(text, 'boolValue') == 1",
      "FUNCTION(path, 'lastPathComponent') == 'b.txt'", "FUNCTION(path, 'pathExtension') == 'txt'",
      "FUNCTION(age, 'stringValue') == '7'", "FUNCTION(age, 'doubleValue') == 7.0", "FUNCTION(age, 'boolValue') == YES",
      "FUNCTION(price, 'decimalNumberByAdding:', 1) == 2.5",
      "FUNCTION(born, 'dateByAddingTimeInterval:', 5) == CAST(105, 'NSDate')",
      "FUNCTION(born, 'timeIntervalSinceReferenceDate') == 100",
      "FUNCTION(born, 'timeIntervalSinceDate:', CAST(40, 'NSDate')) == 60",
      "FUNCTION(born, 'timeIntervalSince1970') == 978307300",
      "FUNCTION(born, 'laterDate:', CAST(400, 'NSDate')) == CAST(400, 'NSDate')",
      "FUNCTION(now(), 'dateByAddingTimeInterval:', -60) < now()",
      "FUNCTION(tags, 'count') == 2", "FUNCTION(tags, 'firstObject') == 'b'", "FUNCTION(tags, 'lastObject') == 'a'",
      "FUNCTION(tags, 'objectAtIndex:', 1) == 'a'", "FUNCTION(tags, 'componentsJoinedByString:', '+') == 'b+a'",
      "FUNCTION(tags, 'containsObject:', 'a') == YES", "FUNCTION(data, 'length') == 2",
      "FUNCTION(link, 'host') == 'a.example'", "FUNCTION(link, 'absoluteString') BEGINSWITH 'https'",
      "FUNCTION(SELF, 'valueForKeyPath:', 'age') == 7", "FUNCTION(SELF, 'valueForKey:', 'name') == 'Größe'",
      "FUNCTION(SELF, 'objectForKey:', 'age') == 7", "FUNCTION(name, 'isEqual:', 'Größe') == YES",
      "FUNCTION(void, 'length') == nil", "FUNCTION(name, 'length:') == 5",
    ])
  func methods(format: String) throws {
    let predicate = try NSPredicate.parse(format: format)
    #expect(predicate.evaluate(with: Self.row))
    #expect(try NSPredicate.parse(format: predicate.canonicalFormat) == predicate)
  }

  @Test("An unknown method is an error when the format is read, and so is a wrong number of arguments")
  func unknown() async {
    for format in [
      "FUNCTION(name, 'shout') == 'A'", "FUNCTION(name, 'substringToIndex:') == 'A'",
      "FUNCTION(name, 'length', 1) == 1",
    ] {
      #expect(throws: PredicateSyntaxError.self, "\(format)") { try NSPredicate.parse(format: format) }
    }
    await #expect(processExitsWith: .failure) {
      _ = CoreData.NSExpression(
        forFunction: CoreData.NSExpression(forKeyPath: "name"), selectorName: "shout", arguments: nil)
    }
    await #expect(processExitsWith: .failure) { _ = CoreData.NSExpression(forFunction: "shout:", arguments: []) }
  }

  @Test("A value without the method is an error, not nil")
  func otherReceivers() async {
    await #expect(processExitsWith: .failure) {
      _ = NSPredicate(format: "FUNCTION(age, 'uppercaseString') == nil").evaluate(with: ["age": 1])
    }
  }

  @Test(
    "The stores compute methods as memory does", arguments: [NSSQLiteStoreType, NSInMemoryStoreType])
  func stores(type: String) throws {
    let context = try libraryContext(type)
    try context.performAndWait {
      let born = Date(timeIntervalSinceReferenceDate: 100)
      let author = context.make("Author", ["name": "Ada", "born": born])
      context.make("Book", ["title": "One", "pages": 7, "rating": 2.5, "author": author])
      context.make("Book", ["title": "Two", "pages": 5])
      try context.save()
      for format in [
        "FUNCTION(title, 'uppercaseString') == 'ONE'", "FUNCTION(title, 'substringFromIndex:', 1) == 'ne'",
        "FUNCTION(title, 'stringByAppendingString:', author.name) == 'OneAda'",
        "FUNCTION(author.born, 'dateByAddingTimeInterval:', pages) == CAST(107, 'NSDate')",
        "FUNCTION(author.born, 'timeIntervalSinceDate:', CAST(0, 'NSDate')) == 100",
        "FUNCTION(pages, 'stringValue') == '7'", "FUNCTION(author, 'valueForKeyPath:', 'name') == 'Ada'",
        "author.born < %@ AND FUNCTION(author.born, 'dateByAddingTimeInterval:', 60) > %@",
      ] {
        let moment = Date(timeIntervalSinceReferenceDate: 150)
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.predicate = NSPredicate(format: format, moment, moment)
        #expect(try context.fetch(request).map { $0.value(forKey: "title") as? String } == ["One"], "\(format)")
      }
    }
  }

  @Test("A method that a column's values lack is an error of the fetch")
  func columnsWithoutTheMethod() throws {
    let store = try TemporaryStore()
    let context = store.context()
    context.performAndWait {
      _ = #expect(throws: (any Error).self) {
        try context.all("Book", where: "FUNCTION(pages, 'uppercaseString') == nil")
      }
    }
  }
}
