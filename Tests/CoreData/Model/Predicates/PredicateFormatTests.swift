import TestFiles
import Testing

@testable import CoreData

@Suite struct PredicateFormatTests {
  @Test(
    "The canonical form of a format",
    arguments: [
      ("name == 'x'", "name == \"x\""),
      ("name = \"x\"", "name == \"x\""),
      ("a <> 1", "a != 1"),
      ("a =< 1 && b => 2", "a <= 1 AND b >= 2"),
      ("a == 1 || b == 2 and c == 3", "a == 1 OR (b == 2 AND c == 3)"),
      ("a == 1 AND b == 2 AND c == 3", "a == 1 AND b == 2 AND c == 3"),
      ("(a == 1 OR b == 2) AND c == 3", "(a == 1 OR b == 2) AND c == 3"),
      ("not a == 1 and !(b == 2)", "(NOT a == 1) AND (NOT b == 2)"),
      ("NOT (a == 1 OR b == 2)", "NOT (a == 1 OR b == 2)"),
      ("((a == 1))", "a == 1"),
      ("isMale == YES", "isMale == 1"),
      ("isMale == false", "isMale == 0"),
      ("a == nil OR b != NULL", "a == nil OR b != nil"),
      ("a IN {1, 'two', 3.5}", "a IN {1, \"two\", 3.5}"),
      ("a in {}", "a IN {}"),
      ("a BETWEEN {1, 10}", "a BETWEEN {1, 10}"),
      ("name like[c] 'a*'", "name LIKE[c] \"a*\""),
      ("name BEGINSWITH[dc] 'é'", "name BEGINSWITH[cd] \"é\""),
      ("name ==[n] 'x'", "name ==[n] \"x\""),
      ("ANY tags.name == 'x'", "ANY tags.name == \"x\""),
      ("some tags.name == 'x'", "ANY tags.name == \"x\""),
      ("ALL tags.name MATCHES '[a-z]+'", "ALL tags.name MATCHES \"[a-z]+\""),
      ("NONE tags.name == 'x'", "NOT ANY tags.name == \"x\""),
      ("tags.@count > 3", "tags.@count > 3"),
      ("tags.@sum.price >= 0x10", "tags.@sum.price >= 16"),
      ("a == 0b101 OR a == 0o17", "a == 5 OR a == 15"),
      ("a == -5", "a == -5"),
      ("a == 1.5e3", "a == 1500"),
      ("a + b * 2 == c - 1", "a + (b * 2) == c - 1"),
      ("(a + b) * 2 == c", "(a + b) * 2 == c"),
      ("a - b - c == 0", "(a - b) - c == 0"),
      ("a ** 2 | 1 & 3 == 7", "(a ** 2) | (1 & 3) == 7"),
      ("~a == -b", "~a == -b"),
      ("a << 1 == 4", "a << 1 == 4"),
      ("SELF > 3", "SELF > 3"),
      ("self.length > 3", "length > 3"),
      ("SELF IN $list", "SELF IN $list"),
      ("$x.name == 'a'", "$x.name == \"a\""),
      ("#and == 1 AND #self.#or == 2", "#and == 1 AND #self.or == 2"),
      ("person.first == 'x'", "person.first == \"x\""),
      ("TRUEPREDICATE OR falsepredicate", "TRUEPREDICATE OR FALSEPREDICATE"),
      ("SUBQUERY(items, $i, $i.price > 3).@count == 1", "SUBQUERY(items, $i, $i.price > 3).@count == 1"),
      ("lowercase(name) == 'x'", "lowercase:(name) == \"x\""),
      ("modulus:by:(SELF, 2) == 0", "modulus:by:(SELF, 2) == 0"),
      ("now() > date", "now() > date"),
      ("sum({1, 2}) == 3", "sum:({1, 2}) == 3"),
      ("FUNCTION(a, 'length:') == 1", "FUNCTION(a, \"length:\") == 1"),
      ("CAST(a, 'NSNumber') == 1", "CAST(a, \"NSNumber\") == 1"),
      ("TERNARY(a == 1, b, c) == 2", "TERNARY(a == 1, b, c) == 2"),
      ("list[0] == 1 AND list[LAST] == 2 AND list[size] == 2", "list[0] == 1 AND list[LAST] == 2 AND list[SIZE] == 2"),
      ("a UNION b == c", "a UNION b == c"),
      ("'%K' like '%@'", "\"%K\" LIKE \"%@\""),
      ("a == 'q\\\"\\\\'", "a == \"q\\\"\\\\\""),
    ])
  func prints(format: String, canonical: String) throws {
    let predicate = try NSPredicate.parse(format: format)
    #expect(predicate.canonicalFormat == canonical)
    // The canonical form reads back as the same tree.
    #expect(try NSPredicate.parse(format: canonical) == predicate)
  }

  @Test("Arguments take their places")
  func arguments() {
    #expect(
      NSPredicate(format: "%K like %@+$b+$c", "$single", "b\"").canonicalFormat
        == "$single LIKE (\"b\\\"\" + $b) + $c")
    #expect(NSPredicate(format: "%K.%K == %@", "owner", "name", "x").canonicalFormat == "owner.name == \"x\"")
    #expect(NSPredicate(format: "%K.@count > %d", "tags", 3).canonicalFormat == "tags.@count > 3")
    #expect(NSPredicate(format: "a == %@", nil).canonicalFormat == "a == nil")
    #expect(NSPredicate(format: "a == %@", NSNull()).canonicalFormat == "a == <null>")
    #expect(
      NSPredicate(format: "a == <null> OR a IN {nil, <null>}").canonicalFormat == "a == <null> OR a IN {nil, <null>}")
    #expect(CoreData.NSExpression(forConstantValue: NSNull()).description == "<null>")
    #expect(NSPredicate(format: "a IN %@ AND b == %lf", [1, 2], 1.5).canonicalFormat == "a IN {1, 2} AND b == 1.5")
    #expect(NSPredicate(format: "a == %ld", 5 as Int64).canonicalFormat == "a == 5")
    #expect(NSPredicate(format: "a == %@", argumentArray: [true]).canonicalFormat == "a == 1")
    #expect(
      NSPredicate(format: "%@ AND b == 1", NSPredicate(format: "a == 1")).canonicalFormat == "a == 1 AND b == 1")
    #expect(NSPredicate(format: "%@ > 1", CoreData.NSExpression(forKeyPath: "a.b")).canonicalFormat == "a.b > 1")
    #expect(
      NSPredicate(format: "d > %@", Date(timeIntervalSinceReferenceDate: 5)).canonicalFormat
        == "d > CAST(5.000000, \"NSDate\")")
  }

  @Test(
    "Every number's format takes a number",
    arguments: [
      "%d", "%D", "%i", "%u", "%ld", "%lu", "%lld", "%llu", "%hd", "%hi", "%x", "%X", "%c", "%f", "%lf", "%g", "%e",
    ])
  func numberFormats(specifier: String) {
    #expect(NSPredicate(format: "a == \(specifier)", 65).canonicalFormat == "a == 65")
    let isReal = "fge".contains(specifier.last ?? " ")
    let arguments: [any CVarArg] = isReal ? [65.5, 3] : specifier.contains("l") ? [65 as Int64, 3] : [65 as Int32, 3]
    let predicate = withVaList(arguments) { NSPredicate(format: "a == \(specifier) AND b == %d", arguments: $0) }
    #expect(predicate.canonicalFormat == "a == \(isReal ? "65.5" : "65") AND b == 3")
  }

  @Test("A C string is text")
  func textFormat() {
    #expect(NSPredicate(format: "a == %s", "x").canonicalFormat == "a == \"x\"")
    let predicate = "größer".withCString { text in
      withVaList([text]) { NSPredicate(format: "a == %s", arguments: $0) }
    }
    #expect(predicate.canonicalFormat == "a == \"größer\"")
  }

  @Test("An assignment can be read")
  func assignment() throws {
    let expression = CoreData.NSExpression(format: "$x := a + 1")
    #expect(expression.description == "$x := a + 1")
    #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: "a := 1") }
  }

  @Test("A C argument list takes its places")
  func variadicArguments() {
    let predicate = withVaList(["name", "ann", 3, 1.5, Int64.max]) {
      NSPredicate(format: "%K == %@ AND a == %d AND b == %f AND c == %ld", arguments: $0)
    }
    #expect(
      predicate.canonicalFormat == "name == \"ann\" AND a == 3 AND b == 1.5 AND c == 9223372036854775807")
  }

  @Test(
    "What cannot be read says where and what was expected",
    arguments: [
      ("", 0, "Expected a key path, a value or \"(\""),
      ("name", 4, "Expected a comparison operator"),
      ("name ==", 7, "Expected a key path, a value or \"(\""),
      ("name == 'x", 10, "Expected the closing ' of the string that begins at column 9"),
      ("name ?? 'x'", 5, "Unexpected character"),
      ("a == 1 AND", 10, "Expected a key path, a value or \"(\""),
      ("a == 1 b == 2", 7, "Expected AND, OR or the end"),
      ("(a == 1", 7, "Expected \")\""),
      ("a BETWEEN {1}", 10, "Expected {lowest, highest}"),
      ("a ==[x] 1", 5, "Expected options: c, d, n, l"),
      ("and == 1", 0, "and is a reserved word; a key of that name is written #and"),
      ("foo(a) == 1", 0, "There is no function \"foo\""),
      ("a == %@", 5, "No argument is left for this place"),
      ("a == %%", 5, "A percent sign means something inside quotes only"),
      ("a == ?", 5, "Unexpected character"),
      ("a == %q", 5, "Expected %@, %K, or a number's format such as %d or %f"),
      ("ANY tags.name", 13, "Expected a comparison operator"),
      ("a == (b == 1)", 5, "Expected a value, not a predicate"),
      ("a. == 1", 3, "Expected a key after \".\""),
      ("1a == 2", 0, "Not a number"),
      ("a IN {1, 2", 10, "Expected \",\" or \"}\""),
    ])
  func rejects(format: String, position: Int, message: String) {
    #expect(throws: PredicateSyntaxError(format: format, position: position, message: message)) {
      try NSPredicate.parse(format: format)
    }
  }

  @Test("Only a statistical function takes several values")
  func argumentCounts() throws {
    for format in ["length(a, b) == 1", "sqrt(1, 2) == 1", "now(1) == nil", "sum() == 0"] {
      #expect(throws: PredicateSyntaxError.self, "\(format)") { try NSPredicate.parse(format: format) }
    }
    for format in ["sum(1, 2) == 3", "max(1, 2, 3) == 3", "length('ab') == 2", "count({1, 2}) == 2"] {
      try #expect(NSPredicate.parse(format: format).evaluate(with: nil), "\(format)")
    }
  }

  @Test("Deep nesting is an error, not a crash")
  func nesting() {
    for opening in ["(", "NOT ", "-", "{", "abs:(", "TERNARY(", "a[", "$x := "] {
      #expect(throws: PredicateSyntaxError.self) {
        try NSPredicate.parse(format: String(repeating: opening, count: 100_000) + "a")
      }
    }
  }

  /// Operators of one level associate to the left: a chain of them is as deep as it is long.
  @Test(
    "A chain that makes a deep tree is an error, not a crash",
    arguments: [
      ("a", " + a"), ("a", " ** 2"), ("a", " UNION a"), ("a", "[0]"), ("a", "[FIRST].b"), ("a", " - (a + 1)"),
    ])
  func chains(first: String, repeatedPart: String) throws {
    let chain = { first + String(repeating: repeatedPart, count: $0) }
    let error = #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: chain(10_000) + " == 2") }
    #expect(error?.message == "Nested too deeply")
    let predicate = try NSPredicate.parse(format: chain(40) + " == 2")
    #expect(try NSPredicate.parse(format: predicate.canonicalFormat) == predicate)
  }

  /// Each part is within the limits, and their sum is not.
  @Test("Chains in chains count together")
  func chainsInChains() {
    var (sum, negation) = ("a", "a == 1")
    for _ in 0..<90 {
      sum = "(\(sum)\(String(repeating: " + 1", count: 90)))"
      negation = "\(String(repeating: "NOT ", count: 90))(\(negation))"
    }
    for format in ["\(sum) == 2", negation, "TERNARY(\(negation), 1, 2) == 2"] {
      let error = #expect(throws: PredicateSyntaxError.self) { try NSPredicate.parse(format: format) }
      #expect(error?.message == "Nested too deeply")
    }
    var inner: NSPredicate? = NSPredicate(format: "a == 1")
    for _ in 0..<1000 {
      inner = inner.flatMap { try? NSPredicate.parse(format: "NOT (%@ AND b == 2)", arguments: [$0]) }
    }
    #expect(inner == nil)
  }

  @Test("A long list of conditions or values is not deep")
  func longLists() throws {
    let conditions = Array(repeating: "a == 1 + 2", count: 5000)
    #expect(try NSPredicate.parse(format: conditions.joined(separator: " OR ")).evaluate(with: ["a": 3]))
    #expect(try NSPredicate.parse(format: conditions.joined(separator: " AND ")).evaluate(with: ["a": 3]))
    let values = (0..<5000).map { "\($0)" }.joined(separator: ", ")
    #expect(try NSPredicate.parse(format: "a IN {\(values)}").evaluate(with: ["a": 4999]))
  }

  @Test("Text cut anywhere is read or refused, never a crash")
  func prefixes() {
    let format =
      "NOT (ANY a.b[FIRST] ==[cd] %@ || SUBQUERY(x, $y, $y.z IN {1, 'two'}).@count > 0x1F) && add:to:(1, ~2) > .5"
    for end in format.indices {
      _ = try? NSPredicate.parse(format: String(format[..<end]), arguments: [1])
      _ = try? NSPredicate.parse(format: String(format[end...]), arguments: [1])
    }
  }

  @Test("Equality is that of the trees")
  func equality() {
    #expect(NSPredicate(format: "a == 1 AND b == 2") == NSPredicate(format: "a = 1 && b = 2"))
    #expect(NSPredicate(format: "a == 1 AND b == 2") != NSPredicate(format: "a == 1 OR b == 2"))
    #expect(NSPredicate(format: "a == 1 AND b == 2") != NSPredicate(format: "b == 2 AND a == 1"))
    #expect(NSPredicate(format: "a ==[c] 'x'") != NSPredicate(format: "a == 'x'"))
    #expect(NSPredicate(format: "a == 1").hash == NSPredicate(format: "a = %d", 1).hash)
    #expect(NSPredicate(format: "a == 1").copy() as? NSPredicate == NSPredicate(format: "a == 1"))
    #expect(NSPredicate(format: "NOT a == 1").copy() as? NSPredicate == NSPredicate(format: "NOT a == 1"))
  }

  @Test("Variables are replaced where they have a value")
  func substitution() {
    let predicate = NSPredicate(format: "a == $x AND SUBQUERY(b, $x, $x.c == $y).@count > 0 AND d == $z")
    let replaced = predicate.withSubstitutionVariables(["x": 1, "y": "two"])
    #expect(
      replaced.canonicalFormat
        == "a == 1 AND SUBQUERY(b, $x, $x.c == \"two\").@count > 0 AND d == $z")
  }

  @Test("A predicate made of Foundation's parts prints, too")
  func foundationParts() {
    let parts = [NSPredicate(format: "a == 1"), NSPredicate(value: true)]
    #expect(NSCompoundPredicate(orPredicateWithSubpredicates: parts).canonicalFormat == "a == 1 OR TRUEPREDICATE")
    #expect(NSCompoundPredicate(andPredicateWithSubpredicates: []).canonicalFormat == "TRUEPREDICATE")
    #expect(NSPredicate(block: { _, _ in true }).canonicalFormat == "BLOCKPREDICATE")
  }

  @Test("Any words in any order are refused, or read and printed so that they read back the same")
  func wordSoup() throws {
    var random = SeededGenerator(seed: 7)
    let words = [
      "a", "b.c", "SELF", "$x", "1", "-2", "1.5", "'t'", "nil", "YES", "==", "!=", "<", "IN", "BETWEEN", "CONTAINS[cd]",
      "LIKE", "AND", "OR", "NOT", "ANY", "ALL", "NONE", "(", ")", "{", "}", ",", "+", "-", "*", "**", "&", "@count",
      ".",
      "[", "]", "FIRST", "sum(", "SUBQUERY(", "TERNARY(", "CAST(", "TRUEPREDICATE", "%@", "#or", "UNION", ":=", "now()",
    ]
    var readable = 0
    for _ in 0..<20_000 {
      let count = Int.random(in: 1...9, using: &random)
      let format = (0..<count).map { _ in words[Int.random(in: 0..<words.count, using: &random)] }.joined(
        separator: " ")
      guard let predicate = try? NSPredicate.parse(format: format, arguments: [1, "x", nil]) else { continue }
      readable += 1
      let canonical = predicate.canonicalFormat
      let again = try NSPredicate.parse(format: canonical)
      #expect(again.canonicalFormat == canonical, "\(format)")
      #expect(again == predicate, "\(format) → \(canonical)")
      _ = predicate.withSubstitutionVariables(["x": 1]).evaluate(with: ["a": 1, "b": ["c": "t"]])
    }
    #expect(readable > 50)
  }
}
