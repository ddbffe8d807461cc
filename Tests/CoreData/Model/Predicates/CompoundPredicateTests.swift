import CoreData
import Testing

/// Compound predicates behave alike, whether a format, Foundation's initialisers or a predicate of the macro made them.
@Suite struct CompoundPredicateTests {
  private static var a: NSPredicate { NSPredicate(format: "a == 1") }
  private static var b: NSPredicate { NSPredicate(format: "b == 2") }

  private static func made(_ type: NSCompoundPredicate.LogicalType) -> NSCompoundPredicate {
    switch type {
    case .and: NSCompoundPredicate(andPredicateWithSubpredicates: [a, b])
    case .or: NSCompoundPredicate(orPredicateWithSubpredicates: [a, b])
    case .not: NSCompoundPredicate(notPredicateWithSubpredicate: a)
    @unknown default: NSCompoundPredicate(type: type, subpredicates: [a, b])
    }
  }

  @Test(
    "They print their format",
    arguments: [(.and, "a == 1 AND b == 2"), (.or, "a == 1 OR b == 2"), (.not, "NOT a == 1")]
      as [(NSCompoundPredicate.LogicalType, String)])
  func printing(type: NSCompoundPredicate.LogicalType, format: String) {
    #expect(Self.made(type).description == format)
    #expect("\(Self.made(type))" == format)
    #expect(Self.made(type).canonicalFormat == format)
    #expect(Self.made(type).perform(\.description) == format)
    let nested = NSCompoundPredicate(andPredicateWithSubpredicates: [Self.made(type), Self.a])
    #expect("\(nested)" == "(\(format)) AND a == 1")
  }

  @Test("They are equal where their trees are, and only there")
  func equality() {
    let types: [NSCompoundPredicate.LogicalType] = [.and, .or, .not]
    for (index, type) in types.enumerated() {
      for (other, otherType) in types.enumerated() {
        #expect((Self.made(type) == Self.made(otherType)) == (index == other))
        #expect(Self.made(type).isEqual(Self.made(otherType)) == (index == other))
      }
      let parsed = NSPredicate(format: Self.made(type).canonicalFormat)
      #expect(parsed == Self.made(type) && Self.made(type) == parsed)
      #expect(parsed.hash == Self.made(type).hash)
    }
    let others = [[Self.b, Self.a], [Self.a], [Self.a, Self.a], []].map {
      NSCompoundPredicate(andPredicateWithSubpredicates: $0)
    }
    for other in others { #expect(other != Self.made(.and) && Self.made(.and) != other) }
    #expect(Set([Self.made(.and), Self.made(.and), Self.made(.or)]).count == 2)
    #expect([Self.made(.or)].contains(Self.made(.or)) && ![Self.made(.or)].contains(Self.made(.and)))
  }

  @Test("Copies are equal and evaluate alike")
  func copies() throws {
    let predicate = Self.made(.and)
    let copy = try #require(predicate.copy() as? NSPredicate)
    #expect(copy == predicate && copy.evaluate(with: ["a": 1, "b": 2]) && !copy.evaluate(with: ["a": 1]))
  }

  @Test("A fetch request's predicate compares with one that was made in another way")
  func requests() {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = Self.made(.or)
    #expect(request.predicate == NSPredicate(format: "a == 1 OR b == 2"))
    #expect(request.predicate != NSPredicate(format: "a == 1 OR b == 3"))
  }
}

extension NSCompoundPredicate {
  /// The value as generic code sees it.
  fileprivate func perform<Value>(_ body: (NSPredicate) -> Value) -> Value { body(self) }
}
