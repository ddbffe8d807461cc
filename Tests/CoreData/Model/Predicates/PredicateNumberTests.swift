import CoreData
import Testing

/// Numbers and collections that expressions and key paths return are Foundation's, as on Apple's platforms.
@Suite struct PredicateNumberTests {
  private typealias Expression = CoreData.NSExpression

  private func isNumber(_ value: Any?, _ expected: Int) -> Bool {
    value as? Int == expected && value as? Int64 == Int64(expected) && value as? Double == Double(expected)
      && value is NSNumber
  }

  @Test(
    "Results of expressions cast to each type that holds them",
    arguments: [
      "2 + 3", "sum({2, 3})", "5", "length('abcde')", "max({5, 1})", "10 / 2.0", "TERNARY(TRUEPREDICATE, 5, 0)",
    ])
  func results(format: String) {
    #expect(isNumber(Expression(format: format).expressionValue(with: nil, context: nil), 5), "\(format)")
  }

  @Test("Constants, variables and values of Swift's types are numbers")
  func constants() {
    for value in [5, 5 as Int64, 5 as Int16, 5.0, 5 as Float, Decimal(5), NSNumber(value: 5)] as [Any] {
      let expression = Expression(forConstantValue: value)
      #expect(isNumber(expression.constantValue, 5), "\(type(of: value))")
      #expect(isNumber(expression.expressionValue(with: nil, context: nil), 5), "\(type(of: value))")
      #expect(isNumber(Expression(forKeyPath: "n").expressionValue(with: ["n": value], context: nil), 5))
      let bound = Expression(forVariable: "n").expressionValue(with: nil, context: ["n": value])
      #expect(isNumber(bound, 5), "\(type(of: value))")
    }
    #expect(Expression(forConstantValue: true).constantValue as? Bool == true)
    let members = Expression(format: "{1, 2.5}").expressionValue(with: nil, context: nil)
    #expect(members as? [Double] == [1, 2.5])
  }

  @Test("A block gets numbers")
  func blocks() {
    let block = Expression(
      block: { _, arguments, _ in arguments[0] as? Int ?? -1 }, arguments: [Expression(format: "2 + 3")])
    #expect(isNumber(block.expressionValue(with: nil, context: nil), 5))
  }

  @Test("Defaults of attributes are numbers")
  func defaults() {
    for value in [5, 5 as Int32, 5.0, Decimal(5)] as [Any] {
      let attribute = NSAttributeDescription()
      attribute.attributeType = .integer64AttributeType
      attribute.defaultValue = value
      #expect(isNumber(attribute.defaultValue, 5), "\(type(of: value))")
    }
    let attribute = NSAttributeDescription()
    attribute.defaultValue = "5"
    #expect(attribute.defaultValue as? String == "5")
  }

  @Test("Collection operators give numbers, and values at a key of a set are a set")
  func managedObjects() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      let tags = ["x", "y", "y"].map { context.make("Tag", ["label": $0]) }
      for (pages, tags) in [(2, [tags[0]]), (3, [tags[0], tags[1]]), (3, [tags[2]])] {
        context.make("Book", ["title": "T", "pages": pages, "author": author, "tags": Set(tags)])
      }
      tags[0].setValue(NSOrderedSet(array: [tags[2], tags[1], tags[0]]), forKey: "ordered")
      try context.save()
      #expect(isNumber(author.value(forKeyPath: "books.@count"), 3))
      #expect(isNumber(author.value(forKeyPath: "books.@sum.pages"), 8))
      #expect(isNumber(author.value(forKeyPath: "books.@max.pages"), 3))
      #expect(author.value(forKeyPath: "books.pages") as? Set<Int> == [2, 3])
      #expect(author.value(forKeyPath: "books.pages") is NSSet)
      #expect(author.value(forKeyPath: "books.@distinctUnionOfObjects.pages") as? Set<Int> == [2, 3])
      #expect((author.value(forKeyPath: "books.@unionOfObjects.pages") as? [Int])?.sorted() == [2, 3, 3])
      let ordered = try #require(tags[0].value(forKeyPath: "ordered.label") as? NSOrderedSet)
      #expect(ordered.array as? [String] == ["y", "x"])
      // Predicates still count every member.
      try #expect(context.all("Author", where: "sum:(books.pages) == 8 AND count:(books.pages) == 3").count == 1)
      #expect(NSPredicate(format: "sum:(books.pages) == 8").evaluate(with: author))
    }
  }

  @Test("Operations on collections give sets")
  func sets() {
    let row: [String: Any] = ["a": NSSet(array: [1, 2]), "b": [2, 3]]
    func value(_ format: String) -> Any? { Expression(format: format).expressionValue(with: row, context: nil) }
    #expect(value("a UNION b") as? Set<Int> == [1, 2, 3])
    #expect(value("a INTERSECT b") as? Set<Int> == [2])
    #expect(value("a MINUS b") as? Set<Int> == [1])
    let union = Expression(forUnionSet: Expression(forKeyPath: "a"), with: Expression(forKeyPath: "b"))
    #expect(union.expressionValue(with: row, context: nil) is NSSet)
  }

  @Test("Unions of collections join the members of the members")
  func unionsOfCollections() {
    let row: [String: Any] = [
      "lists": [[["n": 1], ["n": 2]], [["n": 2]]],
      "sets": NSSet(array: [NSSet(array: [1, 2]), NSSet(array: [2, 3])]),
    ]
    func value(_ path: String) -> Any? { Expression(forKeyPath: path).expressionValue(with: row, context: nil) }
    #expect(value("lists.@unionOfArrays.n") as? [Int] == [1, 2, 2])
    #expect(value("lists.@distinctUnionOfArrays.n") as? [Int] == [1, 2])
    #expect(value("sets.@distinctUnionOfSets.self") as? Set<Int> == [1, 2, 3])
  }

  @Test("An unknown collection operator is an error")
  func unknownOperators() async {
    #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: "tags.@median.price > 1") }
    #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: "%K > 1", arguments: ["tags.@foo"]) }
    await #expect(processExitsWith: .failure) {
      _ = CoreData.NSExpression(forKeyPath: "tags.@foo").expressionValue(with: ["tags": [1]], context: nil)
    }
  }
}
