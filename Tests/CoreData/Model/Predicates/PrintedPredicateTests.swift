import CoreData
import TestFiles
import Testing

/// What a predicate prints is a format that gives the predicate again.
@Suite("Printed predicates are read again") struct PrintedPredicateTests {
  private func condition(_ number: Int) -> NSPredicate { NSPredicate(format: "a == %d", number) }

  private func reread(_ predicate: NSPredicate) throws -> NSPredicate {
    try NSPredicate.parse(format: predicate.canonicalFormat)
  }

  /// What programs do in a loop: each condition is added to what there is.
  private func chain(
    _ type: NSCompoundPredicate.LogicalType, _ count: Int, addsInFront: Bool = false
  ) -> NSPredicate {
    (1..<count).reduce(condition(0)) { sum, number in
      let parts = [sum, condition(number)]
      return NSCompoundPredicate(type: type, subpredicates: addsInFront ? parts.reversed() : parts)
    }
  }

  @Test("A chain that was built two by two is one compound when it is read", arguments: [3, 150, 1000], [false, true])
  func chains(count: Int, addsInFront: Bool) throws {
    for type in [NSCompoundPredicate.LogicalType.and, .or] {
      let built = chain(type, count, addsInFront: addsInFront)
      let read = try #require(reread(built) as? NSCompoundPredicate)
      #expect(read.compoundPredicateType == type && read.subpredicates.count == count)
      try #expect(reread(read) == read)
      for value in [0, 1, count - 1, count] {
        #expect(read.evaluate(with: ["a": value]) == built.evaluate(with: ["a": value]))
      }
    }
    #expect("\(NSPredicate(format: "(a == 1 AND b == 2) AND c == 3"))" == "a == 1 AND b == 2 AND c == 3")
    #expect("\(NSPredicate(format: "(a == 1 OR b == 2) AND c == 3"))" == "(a == 1 OR b == 2) AND c == 3")
    #expect("\(NSPredicate(format: "a == 1 AND (b == 2 AND (c == 3))"))" == "a == 1 AND b == 2 AND c == 3")
  }

  @Test("Long chains are fetched, as they were built and as they are read", arguments: [3, 150, 1000])
  func fetching(count: Int) throws {
    let store = try TemporaryStore()
    try store.save { context in
      for number in 0..<3 { context.make("Book", ["title": "b", "pages": number * 100]) }
    }
    let built = (1..<count).reduce(NSPredicate(format: "pages == 0")) { sum, number in
      NSCompoundPredicate(orPredicateWithSubpredicates: [sum, NSPredicate(format: "pages == %d", number)])
    }
    try store.read { context in
      for predicate in [built, try reread(built)] {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.predicate = predicate
        try #expect(context.count(for: request) == min(3, (count - 1) / 100 + 1))
      }
    }
  }

  @Test("Alternating compounds that are too deep are an error, not a crash")
  func tooDeep() throws {
    let deep = (0..<100_000).map { _ in "(" }.joined() + "a == 1"
    #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: deep) }
    let alternating = deep + (0..<100_000).map { $0.isMultiple(of: 2) ? " OR b == 2)" : " AND c == 3)" }.joined()
    let error = #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: alternating) }
    #expect(error?.message == "Nested too deeply")
    let closed = deep + (0..<100_000).map { _ in ")" }.joined()
    try #expect(NSPredicate.parse(format: closed) == condition(1))
  }

  @Test(
    "Parentheses hold predicates or values",
    arguments: [
      "((a + 1) * 2 == 4) AND (b IN {1, 2})", "(a) == (b)", "((SUBQUERY(a, $x, ($x.b == 1)).@count > 0))",
      "TERNARY((a == 1), (b), 2) == 3", "NOT (a == 1) AND NOT (NOT (b == 2))", "(TRUEPREDICATE) OR (a.any == 1)",
      "(ANY a.b == 1) OR (a[(1)] == 2)", "(a.in) == 3",
    ])
  func parentheses(format: String) throws {
    let predicate = try NSPredicate.parse(format: format)
    try #expect(reread(predicate) == predicate)
  }

  @Test("A compound of one part prints as the part")
  func onePart() throws {
    let one = NSCompoundPredicate(andPredicateWithSubpredicates: [condition(1)])
    let both = NSCompoundPredicate(orPredicateWithSubpredicates: [one, condition(2)])
    #expect("\(both)" == "a == 1 OR a == 2")
    #expect("\(NSCompoundPredicate(notPredicateWithSubpredicate: one))" == "NOT a == 1")
    let outer = NSCompoundPredicate(andPredicateWithSubpredicates: [both])
    #expect(
      "\(NSCompoundPredicate(andPredicateWithSubpredicates: [outer, condition(3)]))" == "(a == 1 OR a == 2) AND a == 3")
    let nothing = NSCompoundPredicate(andPredicateWithSubpredicates: [])
    #expect(
      "\(NSCompoundPredicate(orPredicateWithSubpredicates: [nothing, condition(1)]))" == "TRUEPREDICATE OR a == 1")
  }

  @Test("Constants of each kind are read again")
  func constants() throws {
    let values: [Any] = [
      Data([0, 255, 16]), Data(), Date(timeIntervalSinceReferenceDate: 1), UUID(), 1.5, "a\"b\\\n", NSNull(),
    ]
    for value in values {
      let predicate = NSPredicate(format: "a == %@", value)
      try #expect(reread(predicate) == predicate, "\(predicate)")
      #expect(try reread(predicate).evaluate(with: ["a": value]))
    }
    #expect(try NSPredicate.parse(format: "a<10 AND 3>b").evaluate(with: ["a": 9, "b": 2]))
  }

  @Test("A nil inside of a value is <null>, nil itself is nil")
  func nested() {
    let missing: String? = nil
    #expect("\(NSExpression(forConstantValue: nil))" == "nil")
    #expect("\(NSExpression(forConstantValue: missing as Any))" == "<null>")
    #expect(NSExpression(forConstantValue: missing as Any) == NSExpression(forConstantValue: NSNull()))
    #expect("\(NSExpression(forConstantValue: ["a", missing]))" == "{\"a\", <null>}")
    #expect("\(NSPredicate(format: "a == %@", nil))" == "a == nil")
  }

  @Test("NSNull in a dictionary is what its key path gives")
  func nulls() {
    func value(_ path: String) -> Any? {
      let object: [String: Any] = ["a": NSNull(), "b": ["c": NSNull()], "d": [["e": NSNull()], ["e": 1]]]
      return NSExpression(forKeyPath: path).expressionValue(with: object, context: nil)
    }
    #expect(value("a") is NSNull && value("b.c") is NSNull)
    #expect(value("z") == nil && value("a.b") == nil)
    let members = value("d.e") as? [Any]
    #expect(members?.count == 2 && members?.first is NSNull && members?.last as? Int == 1)
    #expect(NSPredicate(format: "a == nil").evaluate(with: ["a": NSNull()]))
    #expect(NSPredicate(format: "a == %@", NSNull()).evaluate(with: ["b": 1]))
  }
}
