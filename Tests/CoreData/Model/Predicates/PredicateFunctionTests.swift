import Testing

@testable import CoreData

@Suite struct PredicateFunctionTests {
  @Test("SQLite computes methods for each row, since the time differs")
  func methodsAreNotDeterministic() throws {
    let method = try #require(SQLFunctions.all.first { $0.name == SQLFunctions.Name.method.rawValue })
    #expect(!method.isDeterministic)
  }

  /// The functions of Apple's `NSExpression` with their results.
  @Test(
    "Each function has its value",
    arguments: [
      ("sum:({1, 2, 3.5})", 6.5), ("count:({1, nil, 3})", 3), ("min:({3, 1, 2})", 1), ("max:({3, 1, 2})", 3),
      ("average:({1, 2, 6})", 3), ("median:({5, 1, 2})", 2), ("median:({1, 2})", 1.5), ("stddev:({1, 3})", 1),
      ("add:to:(1, 2)", 3), ("from:subtract:(5, 2)", 3), ("multiply:by:(3, 4)", 12), ("divide:by:(7, 2.0)", 3.5),
      ("modulus:by:(7, 4)", 3), ("sqrt:(16)", 4), ("log:(1000)", 3), ("ln:(1)", 0), ("raise:toPower:(2, 10)", 1024),
      ("exp:(0)", 1), ("ceiling:(1.2)", 2), ("abs:(-3)", 3), ("trunc:(-1.7)", -1), ("floor:(-1.2)", -2),
      ("bitwiseAnd:with:(6, 3)", 2), ("bitwiseOr:with:(6, 3)", 7), ("bitwiseXor:with:(6, 3)", 5),
      ("leftshift:by:(1, 4)", 16), ("rightshift:by:(16, 2)", 4), ("onesComplement:(0)", -1), ("length:('Straße')", 6),
      ("noindex:(5)", 5), ("castObject:toType:('42', 'NSNumber')", 42), ("negate:(4)", -4),
    ] as [(String, Double)])
  func numbers(format: String, expected: Double) {
    let value = CoreData.NSExpression(format: format).expressionValue(with: nil, context: nil)
    #expect(PredicateValue(value) == .real(expected), "\(String(describing: value))")
  }

  @Test("Texts, moments and chance")
  func others() throws {
    func value(_ format: String) -> Any? {
      CoreData.NSExpression(format: format).expressionValue(with: nil, context: nil)
    }
    #expect(value("uppercase:('straße')") as? String == "STRASSE")
    #expect(value("lowercase:('ÄB')") as? String == "äb")
    #expect(value("canonical:('Éa')") as? String == "ea")
    #expect((value("mode:({1, 2, 2, 3})") as? [Double]) == [2])
    let now = try #require(value("now()") as? Date)
    #expect(now <= Date() && now > Date(timeIntervalSinceNow: -60))
    #expect((0..<1).contains(try #require(value("random()") as? Double)))
    #expect((0..<5).contains(try #require(value("random:(5)") as? Int64)))
    #expect(value("castObject:toType:(0, 'NSDate')") as? Date == Date(timeIntervalSinceReferenceDate: 0))
  }

  /// Texts of which CAST once read only the beginning, or read something else.
  static let textsWithoutValue = [
    ("1,234.56", "NSDecimalNumber"), ("12 EUR", "NSDecimalNumber"), ("1.5.6", "NSDecimalNumber"),
    ("0x10", "NSDecimalNumber"), ("12 EUR", "NSNumber"), ("0x10", "NSNumber"), ("nan", "NSNumber"),
    ("2026-01-31x", "NSDate"), ("2026-02-31", "NSDate"), ("2026-01-31T08:00:00Zx", "NSDate"),
    ("2026-01-31T08:00", "NSDate"), ("2026-01-31T25:00:00Z", "NSDate"),
    ("E621E1F8-C36C-495A-93FC-0C247A3E6E5Fx", "NSUUID"), ("not a uri", "NSURL"),
  ]

  @Test("CAST reads a text whole, or gives nil", arguments: textsWithoutValue)
  func castOfATextThatIsNoValue(text: String, type: String) throws {
    let row = ["text": text]
    #expect(try NSPredicate.parse(format: "CAST(text, '\(type)') == nil").evaluate(with: row))
  }

  @Test("CAST in SQL reads as in memory", arguments: textsWithoutValue)
  func castInSQL(text: String, type: String) throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      context.make("Book", ["title": text])
      try context.save()
      #expect(try context.all("Book", where: "CAST(title, '\(type)') == nil").count == 1)
      #expect(try context.all("Book", where: "CAST(title, '\(type)') != nil").isEmpty)
    }
  }

  @Test(
    "CAST reads what the whole text says",
    arguments: [
      ("CAST(text, 'NSDecimalNumber') == 1234.56", "1234.56"), ("CAST(text, 'NSNumber') == -12", "-12"),
      ("CAST(text, 'NSNumber') == 1500", "1.5e3"),
      ("CAST(text, 'NSDate') == CAST(100.5, 'NSDate')", "2001-01-01T00:01:40.5Z"),
      ("CAST(text, 'NSDate') == CAST(0, 'NSDate')", "2001-01-01T01:00:00+01:00"),
      ("CAST(text, 'NSDate') == CAST(0, 'NSDate')", "2001-01-01"),
    ])
  func castOfAText(format: String, text: String) throws {
    #expect(try NSPredicate.parse(format: format).evaluate(with: ["text": text]))
  }

  @Test("Nil and what is no number make a calculation nil", arguments: ["nil + 1", "'x' * 2", "sqrt:(nil)", "1 / 0"])
  func noNumbers(format: String) {
    #expect(CoreData.NSExpression(format: format).expressionValue(with: nil, context: nil) == nil)
  }

  @Test(
    "Operators bind as they do in C: unary, **, * /, + -, shifts, &, ^, |",
    arguments: [
      ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("2 * 3 ** 2", 18), ("-2 ** 2", 4), ("10 - 4 - 3", 3), ("16 / 4 / 2", 2),
      ("1 + 1 << 2", 8), ("7 & 1 + 1", 2), ("6 ^ 3 & 1", 7), ("1 | 6 ^ 3", 5), ("~1 & 3", 2),
    ] as [(String, Double)])
  func precedence(format: String, expected: Double) {
    let value = CoreData.NSExpression(format: format).expressionValue(with: nil, context: nil)
    #expect(PredicateValue(value) == .real(expected), "\(String(describing: value))")
  }

  @Test("NOT binds tightest, then AND, then OR")
  func compounds() throws {
    let row = ["a": true, "b": false]
    #expect(NSPredicate(format: "NOT b == YES AND a == YES").evaluate(with: row))
    #expect(NSPredicate(format: "a == YES OR a == YES AND b == YES").evaluate(with: row))
    #expect(!NSPredicate(format: "(a == YES OR a == YES) && b == YES").evaluate(with: row))
    #expect(NSPredicate(format: "! b = YES || b = YES").evaluate(with: row))
  }

  @Test("Predicates are equal where their trees are")
  func equality() {
    let pairs = [
      ("a == 1 AND b IN {1, 2}", "(a = 1) && (b in {1, 2})"), ("NONE a.b ==[dc] 'x'", "NOT (SOME a.b ==[cd] \"x\")"),
      ("d > CAST(5, 'NSDate')", "d > CAST(5.000000, \"NSDate\")"),
    ]
    for (one, other) in pairs {
      #expect(NSPredicate(format: one) == NSPredicate(format: other), "\(one)")
      #expect(NSPredicate(format: one).hash == NSPredicate(format: other).hash)
    }
    for other in ["a == 2", "a != 1", "b == 1", "a ==[c] 1", "1 == a", "a == 1.5", "ANY a == 1", "a == $x"] {
      #expect(NSPredicate(format: "a == 1") != NSPredicate(format: other), "\(other)")
    }
  }
}
