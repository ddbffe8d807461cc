import CoreData

/// Numbers that look random and come again the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// Makes rows of the library model, and predicates over them that mean the same in memory and in SQL.
///
/// Left out is `!=` outside of NOT on values that may be nil: there the store answers as Apple's does, unlike memory.
struct PredicateGenerator {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(state: seed) }

  static let texts = [
    "", "a", "A", "ä", "Ä", "a\u{308}", "ab", "AB", "Straße", "STRASSE", "x*y", "x?y", "100%", "ß", "_", "b", "é", "日本",
    "a'b", "a\\b", "\u{10FFFF}", "\u{D7FF}", "\u{E000}",
  ]
  static var numbers: [Any] {
    [-2, -1, 0, 1, 2, 3, 5, 2.5, 0.5, -0.5, true, NSDecimalNumber(string: "1.5"), 1e10]
  }
  static let dates = [0.0, 1, 86400, -1, 1.5].map { Date(timeIntervalSinceReferenceDate: $0) }
  static let uuids = (0..<3).map { UUID(uuid: ($0, 200, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }
  static let links = ["https://a.example/", "https://b.example/x"].compactMap(URL.init(string:))

  mutating func pick<T>(_ items: [T]) -> T {
    items[Int.random(in: 0..<items.count, using: &random)]
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  // MARK: Rows

  mutating func fill(_ context: NSManagedObjectContext) {
    let passports = (0..<4).map { _ in context.make("Passport", optional(["number": pick(Self.texts)])) }
    let tags = (0..<8).map { _ in context.make("Tag", optional(["label": pick(Self.texts)])) }
    var authors: [NSManagedObject] = []
    for index in 0..<12 {
      var values = optional(["born": pick(Self.dates)])
      values["name"] = pick(Self.texts)
      if index < passports.count { values["passport"] = passports[index] }
      authors.append(context.make("Author", values))
    }
    for _ in 0..<60 {
      var values = optional([
        "pages": pick([0, 1, 2, 3, 5]), "rating": pick([-0.5, 0, 1, 2.5]),
        "price": NSDecimalNumber(string: pick(["0.1", "1.5", "2", "3"])), "weight": pick([0.5, 1, 2.5] as [Float]),
        "isRead": pick([true, false]), "uuid": pick(Self.uuids), "link": pick(Self.links),
        "cover": pick([Data(), Data([1]), Data([1, 2])]), "author": pick(authors),
      ])
      values["title"] = pick(Self.texts)
      let book = context.make(chance(30) ? "Comic" : "Book", values)
      book.mutableSetValue(forKey: "tags").addObjects(from: tags.filter { _ in chance(25) })
    }
  }

  /// Some of the values; the others are nil, defaults notwithstanding.
  private mutating func optional(_ values: [String: Any]) -> [String: Any] {
    var result: [String: Any] = [:]
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      result[key] = chance(70) ? value : (key == "author" ? nil : NSNull())
    }
    return result
  }

  // MARK: Predicates

  struct Made {
    var format: String
    var arguments: [Any?] = []

    static func joined(_ a: Made, _ text: String, _ b: Made) -> Made {
      Made(format: "(\(a.format)) \(text) (\(b.format))", arguments: a.arguments + b.arguments)
    }
  }

  /// A predicate over books.
  mutating func predicate(depth: Int = 3, negated: Bool = false) -> Made {
    if depth > 0, chance(60) {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        let part = predicate(depth: depth - 1, negated: true)
        return Made(format: "NOT (\(part.format))", arguments: part.arguments)
      case 1:
        return .joined(
          predicate(depth: depth - 1, negated: negated), "AND", predicate(depth: depth - 1, negated: negated))
      default:
        return .joined(
          predicate(depth: depth - 1, negated: negated), "OR", predicate(depth: depth - 1, negated: negated))
      }
    }
    return leaf(negated)
  }

  private mutating func leaf(_ negated: Bool) -> Made {
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1, 2: return text(pick(["title", "author.name", "author.passport.number"]), negated)
    case 3, 4: return number(pick(["pages", "rating", "price", "weight", "isRead"]), negated)
    case 5: return value(negated)
    case 6:
      return text(pick(["ANY tags.label", "ALL tags.label", "NONE tags.label", "ANY author.books.title"]), negated)
    case 7:
      return number(
        pick(["tags.@count", "author.books.@sum.pages", "author.books.@avg.rating", "author.books.@max.rating"]),
        negated)
    case 8: return subquery(negated)
    case 9: return calculation(negated)
    case 10: return columns(negated)
    default: return mismatch(negated)
    }
  }

  private mutating func options() -> String { pick(["", "", "[c]", "[d]", "[cd]", "[n]"]) }

  private mutating func relation(_ negated: Bool) -> String {
    pick(["==", "<", "<=", ">", ">="] + (negated ? ["!=", "!="] : []))
  }

  /// ALL and NONE are negations themselves.
  private mutating func text(_ path: String, _ negated: Bool) -> Made {
    let negated = negated || path.hasPrefix("ALL") || path.hasPrefix("NONE")
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1:
      return Made(
        format: "\(path) \(relation(negated))\(options()) %@", arguments: [pick(Self.texts)])
    case 2: return Made(format: "\(path) == nil")
    case 3: return Made(format: "\(path) IN\(options()) %@", arguments: [(0..<3).map { _ in pick(Self.texts) }])
    case 4:
      return Made(format: "\(path) LIKE\(options()) %@", arguments: [pick(["*", "a*", "?", "*\\**", "*ß*", "*b?"])])
    case 5:
      return Made(
        format: "\(path) MATCHES\(options()) %@", arguments: [pick([".*", "[aä]b?", "a|b", "\\w+", "STRASSE"])])
    default:
      let type = pick(["CONTAINS", "BEGINSWITH", "ENDSWITH"])
      return Made(format: "\(path) \(type)\(options()) %@", arguments: [pick(Self.texts)])
    }
  }

  private mutating func number(_ path: String, _ negated: Bool) -> Made {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return Made(format: "\(path) == nil")
    case 1: return Made(format: "\(path) IN %@", arguments: [(0..<3).map { _ in pick(Self.numbers) } + [NSNull()]])
    case 2: return Made(format: "\(path) BETWEEN {%@, %@}", arguments: [pick(Self.numbers), pick(Self.numbers)])
    default:
      let isNeverNil = path == "tags.@count"
      return Made(format: "\(path) \(relation(negated || isNeverNil)) %@", arguments: [pick(Self.numbers)])
    }
  }

  private mutating func value(_ negated: Bool) -> Made {
    let (path, value): (String, Any) =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: ("author.born", pick(Self.dates))
      case 1: ("uuid", pick(Self.uuids))
      case 2: ("link", pick(Self.links))
      default: ("cover", pick([Data([1]), Data([1, 2])]))
      }
    if chance(30) { return Made(format: "\(path) IN %@", arguments: [[value]]) }
    return Made(format: "\(path) \(relation(negated)) %@", arguments: [value])
  }

  private mutating func subquery(_ negated: Bool) -> Made {
    let inner = pick([
      Made(format: "$b.pages > %d", arguments: [pick([0, 1, 2])]),
      Made(format: "ANY $b.tags.label == %@", arguments: [pick(Self.texts)]),
      Made(format: "$b.title < title"),
      Made(format: "NOT $b.rating != rating AND $b != SELF"),
    ])
    return Made(
      format: "SUBQUERY(author.books, $b, \(inner.format)).@count \(relation(false)) %d",
      arguments: inner.arguments + [pick([0, 1, 2])])
  }

  private mutating func calculation(_ negated: Bool) -> Made {
    let expression = pick(
      [
        "pages + 1", "pages * rating", "pages / 2", "price / 2", "rating - pages", "-pages", "abs:(rating)",
        "ceiling:(rating)", "modulus:by:(pages, 2)", "length:(title)", "title.length", "pages ** 2", "pages & 1",
        "TERNARY(isRead == YES, pages, rating)", "pages / 0", "count:(tags)", "sum:(author.books.pages)",
        "average:(author.books.rating)", "max:(pages, rating, 1)", "author.books.@min.price", "price * 2 + 1",
      ])
    return Made(format: "\(expression) \(relation(negated)) %@", arguments: [pick(Self.numbers)])
  }

  private mutating func columns(_ negated: Bool) -> Made {
    Made(
      format: pick([
        "pages == rating", "pages < rating", "title == author.name", "title ==[cd] author.name",
        "title BEGINSWITH author.name", "author.name CONTAINS[c] title", "title LIKE[cd] author.name",
        "uuid == uuid", "link == nil", "author.name IN {title, 'a'}", "pages BETWEEN {rating, weight}",
        "title IN author.books.title", "author.name IN tags.label", "tags.label CONTAINS title", "author == nil",
        "author.passport == nil", "SELF IN author.books", "lowercase:(title) == author.name",
        "author.books.@count > tags.@count",
      ]))
  }

  /// Values of a kind that the property never has.
  private mutating func mismatch(_ negated: Bool) -> Made {
    let path = pick(["title", "pages", "author.born", "uuid", "author"])
    let value: Any = path == "title" ? 5 : path == "pages" ? "2" : path == "uuid" ? "x" : "2001"
    return Made(format: "\(path) \(relation(negated)) %@", arguments: [value])
  }
}
