import Testing

@testable import CoreData

@Suite struct PredicateEvaluationTests {
  private let row: [String: Any] = [
    "name": "Élise", "plain": "Elise", "age": 30, "height": 1.75, "isMale": false, "void": NSNull(),
    "born": Date(timeIntervalSinceReferenceDate: 100), "price": Decimal(string: "1.10") as Any,
    "tags": ["red", "green"], "numbers": NSSet(array: [1, 2, 3]), "empty": [Int](),
    "owner": ["name": "Bob", "address": ["city": "Oslo"]],
    "items": [["price": 2, "name": "pen"], ["price": 5, "name": "ink"], ["name": "cap"]],
    "wrapped": Optional<Int>.some(4) as Any, "number": NSNumber(value: 7), "big": Int64.max,
  ]

  @Test(
    "Predicates that hold",
    arguments: [
      "age == 30", "age = 30.0", "age != 31", "age > 29.5", "age >= 30 AND age <= 30", "30 < age + 1",
      "isMale == NO", "isMale == 0", "number == 7", "wrapped == 4", "big == 9223372036854775807",
      "big > 9.2e18", "NOT big < 1", "price == 1.1", "price > 1",
      "name == 'Élise'", "name !=  'Elise'", "name ==[d] 'Elise'", "name ==[cd] 'ELISE'", "name !=[c] 'elise'",
      "name BEGINSWITH 'É'", "name BEGINSWITH[cd] 'el'", "name ENDSWITH 'ise'", "name CONTAINS[c] 'LIS'",
      "NOT name CONTAINS ''", "NOT name BEGINSWITH ''",
      "NOT name ENDSWITH[cd] ''", "NOT '' BEGINSWITH ''", "NOT '' IN name", "name LIKE '*'", "NOT name CONTAINS 'x'",
      "plain < 'Elisf'", "plain > 'Elis'", "'Z' < 'a'",
      "name LIKE 'É*e'", "name LIKE '?lise'", "name LIKE[cd] 'e*S?'", "NOT name LIKE 'Él'", "name LIKE '*'",
      "name MATCHES '.lis[ef]'", "name MATCHES[cd] 'E[L]ISE'", "NOT name MATCHES 'lis'",
      "NOT name MATCHES '('", "'a*b' LIKE 'a\\\\*b'", "NOT 'axb' LIKE 'a\\\\*b'",
      "void == nil", "void == NULL", "missing == nil", "void != 1", "NOT void == 1", "NOT void < 1", "NOT void > 1",
      "NOT void CONTAINS 'a'", "NOT void BEGINSWITH ''", "age != nil", "NOT void IN {1}", "void IN {nil, 1}",
      "age IN {29, 30}", "NOT age IN {}", "'red' IN tags", "tags CONTAINS 'red'", "'li' IN plain",
      "age IN {30.0}", "plain IN[c] {'ELISE'}", "2 IN numbers", "age BETWEEN {30, 30}", "NOT age BETWEEN {31, 40}",
      "plain BETWEEN {'E', 'F'}",
      "ANY tags == 'red'", "NONE tags == 'blue'", "ALL tags.length > 2", "ALL empty == 1", "NOT ANY empty == 1",
      "NONE empty == 1", "ANY items.price > 4", "NOT ALL items.price > 1", "ANY items.price IN {5, 6}",
      "owner.name == 'Bob'", "owner.address.city == 'Oslo'", "owner.nobody.city == nil",
      "tags.@count == 2", "items.@sum.price == 7", "items.@max.price == 5", "items.@min.price == 2",
      "numbers.@avg.self == 2", "empty.@count == 0", "empty.@sum.self == 0", "empty.@max.self == nil",
      "SUBQUERY(items, $i, $i.price > 1 AND $i.name != 'ink').@count == 1",
      "SUBQUERY(items, $i, $i.price > SELF.height).@count == 2",
      "born == CAST(100, 'NSDate')", "born < CAST(100.5, 'NSDate')",
      "born == CAST('2001-01-01T00:01:40Z', 'NSDate')", "born > CAST('2001-01-01', 'NSDate')",
      "born < CAST('2001-01-01T00:01:40.500Z', 'NSDate')", "CAST('x', 'NSDate') == nil", "born != 100", "age != 'x'",
      "NOT age < 'x'",
      "NOT name > 3", "NOT tags == 1", "lowercase(plain) == 'elise'", "length(plain) == 5",
      "modulus:by:(age, 7) == 2", "7 / 2 == 3", "7 / 2.0 == 3.5", "age / 0 == nil", "2 ** 3 == 8", "-age == -30",
      "6 & 3 == 2", "6 | 3 == 7", "6 ^ 3 == 5", "1 << 4 == 16", "~0 == -1", "sum({1, 2, 3}) == 6", "max:(4, 9, 2) == 9",
      "average({1, 2}) == 1.5", "median({1, 5, 3}) == 3", "TERNARY(age > 18, 'adult', 'child') == 'adult'",
      "owner[SIZE] == 2", "owner['name'] == 'Bob'", "tags[FIRST] == 'red'", "tags[LAST] == 'green'", "tags[SIZE] == 2",
      "tags[1] == 'green'", "tags[7] == nil",
      "{1, 2} UNION {2, 3} == {1, 2, 3}", "SELF.age == 30", "ceiling(height) == 2", "floor(height) == 1",
      "name == 'E\\u0301lise' OR name ==[c] 'e\\u0301lise'", "'straße' ==[c] 'STRASSE'", "'ΣΊΣΥΦΟΣ' ==[cd] 'σισυφος'",
      "TRUEPREDICATE", "NOT FALSEPREDICATE",
    ])
  func holds(format: String) throws {
    let predicate = try NSPredicate.parse(format: format)
    #expect(predicate.evaluate(with: row), "\(predicate.canonicalFormat)")
  }

  @Test("Plain values answer for themselves")
  func plainValues() {
    let numbers = [1, 2, 3, 4] as NSArray
    #expect(numbers.filtered(using: NSPredicate(format: "SELF > 2")) as? [Int] == [3, 4])
    #expect(NSPredicate(format: "length == 3").evaluate(with: "abc"))
    #expect(NSPredicate(format: "SELF BEGINSWITH 'a'").evaluate(with: "abc"))
    #expect(NSPredicate(format: "SELF == nil").evaluate(with: nil))
    #expect(NSPredicate(format: "count == 2").evaluate(with: [1, 2]) == false)
    #expect(NSPredicate(format: "@count == 2").evaluate(with: [1, 2]))
  }

  @Test("Stored properties of Swift types can be asked for")
  func mirrored() {
    class Base { let id = 7 }
    final class Derived: Base { let title: String? = "x" }
    struct Point { var x = 1.5 }
    #expect(NSPredicate(format: "id == 7 AND title == 'x' AND other == nil").evaluate(with: Derived()))
    #expect(NSPredicate(format: "x == 1.5").evaluate(with: Point()))
  }

  @Test("Variables are bound at evaluation")
  func variables() {
    let predicate = NSPredicate(format: "age > $limit AND NOT name IN $names")
    let bindings: [String: Any] = ["limit": 20, "names": ["Bob"]]
    #expect(predicate.evaluate(with: row, substitutionVariables: bindings))
  }

  @Test("A variable can hold a key path")
  func keyPathVariables() throws {
    let predicate = try NSPredicate.parse(format: "$a.$b == 'Bob' AND $a.$b.length == 3")
    #expect(predicate.canonicalFormat == "$a.$b == \"Bob\" AND $a.$b.length == 3")
    #expect(try NSPredicate.parse(format: predicate.canonicalFormat) == predicate)
    #expect(predicate.evaluate(with: row, substitutionVariables: ["a": ["name": "Bob"], "b": "name"]))
    let owner = CoreData.NSExpression(forKeyPath: "owner")
    let replaced = predicate.withSubstitutionVariables(["a": owner, "b": "name"])
    #expect(replaced.canonicalFormat == "owner.name == \"Bob\" AND owner.name.length == 3")
    #expect(replaced.evaluate(with: row))
  }

  @Test("A dictionary argument has a size and values")
  func dictionaryArguments() {
    let dictionary = ["x": 1, "y": 2]
    #expect(NSPredicate(format: "%@[SIZE] == 2", dictionary).evaluate(with: nil))
    #expect(NSPredicate(format: "%@['y'] == 2", dictionary).evaluate(with: nil))
    #expect(NSPredicate(format: "%@[SIZE] == 2", dictionary as NSDictionary).evaluate(with: nil))
    #expect(NSPredicate(format: "%@[2] == 'b'", [1: "a", 2: "b"]).evaluate(with: nil))
  }

  @Test("Expressions have values")
  func expressions() {
    let sum = CoreData.NSExpression(forFunction: "sum:", arguments: [CoreData.NSExpression(forKeyPath: "numbers")])
    #expect(sum.expressionValue(with: row, context: nil) as? Int == 6)
    let format = CoreData.NSExpression(format: "age + %d", 2)
    #expect(format.expressionValue(with: row, context: nil) as? Int == 32)
    #expect(format == CoreData.NSExpression(format: "age + 2"))
    #expect(format.expressionType == .function && format.function == "add:to:")
  }

  @Test("Sort descriptors order by key, nil first")
  func sorting() {
    let rows: [[String: Any]] = [
      ["n": 2, "s": "b10"], ["n": 1, "s": "B9"], ["n": 1, "s": "a"], ["s": "É"], ["n": 3.5, "s": "e"],
    ]
    func sorted(_ descriptors: NSSortDescriptor...) -> [String] {
      (rows as NSArray).sortedArray(using: descriptors).map { (($0 as? [String: Any])?["s"] as? String) ?? "" }
    }
    #expect(
      sorted(NSSortDescriptor(key: "n", ascending: true), NSSortDescriptor(key: "s", ascending: false))
        == ["É", "a", "B9", "b10", "e"])
    #expect(sorted(NSSortDescriptor(key: "s", ascending: true)) == ["B9", "a", "b10", "e", "É"])
    #expect(
      sorted(NSSortDescriptor(key: "s", ascending: true, selector: "localizedStandardCompare:"))
        == ["a", "B9", "b10", "e", "É"])
    #expect(
      sorted(NSSortDescriptor(key: "s", ascending: true, selector: "caseInsensitiveCompare:"))
        == ["a", "b10", "B9", "e", "É"])
  }

  @Test("A registered key path has a name")
  func keyPathNames() {
    final class Note { var title: String? = nil }
    KeyPathNames.register([\Note.title: "title"])
    #expect(NSSortDescriptor(keyPath: \Note.title, ascending: true).key == "title")
    #expect(CoreData.NSExpression(forKeyPath: \Note.title).keyPath == "title")
  }

  @Test("A format that cannot be read traps, and so does a variable without a value")
  func traps() async {
    await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "name ==") }
    await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "name == $x").evaluate(with: ["name": 1]) }
  }

  @Test("Sorting reads each key once and keeps equal elements in order")
  func sortedArrays() {
    let rows: [[String: Any]] = (0..<100).map { ["n": $0 % 3, "i": $0] }
    let sorted = rows.sorted(by: [NSSortDescriptor(key: "n", ascending: false)])
    #expect(sorted.map { $0["i"] as? Int } == (0..<100).sorted { ($1 % 3, $0) < ($0 % 3, $1) })
    let byCode = rows.sorted(by: [
      NSSortDescriptor(
        key: "i", ascending: false,
        comparator: { ($0 as? Int ?? 0) < ($1 as? Int ?? 0) ? .orderedAscending : .orderedDescending })
    ])
    #expect(byCode.first?["i"] as? Int == 99)
  }
}
