import CoreData

/// Predicates from the whole grammar.
///
/// It omits `!=` outside of NOT on values that may be nil: there the store answers as Apple's does, unlike memory.
extension PredicateGenerator {
  /// A part of a format with its arguments.
  package struct Made {
    package var format: String
    package var arguments: [Any?] = []

    package var isQuantified: Bool { ["ANY ", "SOME ", "ALL ", "NONE "].contains { format.hasPrefix($0) } }
  }

  /// The start of key paths: an object of the entity, as SELF or as a variable.
  struct Scope {
    let entity: String
    /// "", or "$x." inside a SUBQUERY.
    var prefix = ""
    /// Whether a comparison with nil must give the same result as in memory, because NOT, ALL or NONE negates it.
    var isNegated = false
    var depth = 3

    var negated: Scope { with { $0.isNegated = true } }
    var deeper: Scope { with { $0.depth -= 1 } }
    var object: String { prefix.isEmpty ? "SELF" : String(prefix.dropLast()) }

    func with(_ change: (inout Scope) -> Void) -> Scope {
      var copy = self
      change(&copy)
      return copy
    }
  }

  // MARK: Compounds

  /// A predicate over objects of the entity.
  package mutating func predicate(over entity: String) -> Made { predicate(Scope(entity: entity)) }

  private mutating func predicate(_ scope: Scope) -> Made {
    guard scope.depth > 0, chance(55) else { return comparison(scope) }
    let inner = scope.deeper
    switch number(below: 8) {
    case 0: return make([pick(["NOT (", "!("]), predicate(inner.negated), ")"])
    case 1, 2, 3: return make(["(", predicate(inner), pick([") AND (", ") && ("]), predicate(inner), ")"])
    case 4, 5, 6: return make(["(", predicate(inner), pick([") OR (", ") || ("]), predicate(inner), ")"])
    default: return Made(format: pick(["TRUEPREDICATE", "FALSEPREDICATE"]))
    }
  }

  private mutating func make(_ parts: [Any]) -> Made {
    var made = Made(format: "")
    for part in parts {
      if let text = part as? String { made.format += text }
      if let part = part as? Made {
        made.format += part.format
        made.arguments += part.arguments
      }
    }
    return made
  }

  private mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

  private mutating func argument(_ value: Any?) -> Made { Made(format: "%@", arguments: [value]) }

  // MARK: Comparisons

  private mutating func comparison(_ scope: Scope) -> Made {
    switch number(below: 15) {
    case 14: return entity(scope)
    case 0, 1, 2: return compare(text(scope), scope, Self.texts, other: { $0.text(scope.deeper) })
    case 3, 4, 5: return compare(quantity(scope), scope, Self.numbers, other: { $0.quantity(scope.deeper) })
    case 6: return matching(text(scope), scope)
    case 7: return moment(scope)
    case 8: return bytes(scope)
    case 9: return quantified(scope)
    case 10: return membership(scope)
    case 11: return objects(scope)
    case 12: return matching(text(scope), scope)
    default: return mismatch(scope)
    }
  }

  private mutating func relation(_ scope: Scope) -> String {
    pick(["==", "=", "<", "<=", "=<", ">", ">=", "=>"] + (scope.isNegated ? ["!=", "<>"] : []))
  }

  private mutating func options() -> String { pick(["", "", "", "[c]", "[d]", "[cd]", "[n]", "[l]"]) }

  /// A value against constants of its kind, or against another value.
  private mutating func compare(
    _ value: Made, _ scope: Scope, _ constants: [Any], other: (inout PredicateGenerator) -> Made
  ) -> Made {
    let isText = constants is [String]
    let options = isText ? options() : ""
    // ANY and the like are allowed on the left only.
    let isQuantified = value.isQuantified
    switch number(below: 10) {
    case 0: return make([value, pick([" == nil", " = NULL"])])
    case 1:
      let members = (0..<number(below: 4)).map { _ in pick(constants) } + (chance(20) ? [NSNull()] : [])
      return make([value, " IN\(options) ", argument(members)])
    case 2: return make([value, " IN\(options) {", other(&self), ", ", argument(pick(constants)), "}"])
    case 3:
      return make([value, " BETWEEN\(options) {", argument(pick(constants)), ", ", argument(pick(constants)), "}"])
    case 4: return make([value, " BETWEEN\(options) {", other(&self), ", ", other(&self), "}"])
    case 5, 6: return make([value, " \(relation(scope))\(options) ", other(&self)])
    case 7 where !isQuantified:
      return make([argument(pick(constants)), " \(relation(scope))\(options) ", value])
    default: return make([value, " \(relation(scope))\(options) ", argument(pick(constants))])
    }
  }

  private mutating func matching(_ value: Made, _ scope: Scope) -> Made {
    let options = options()
    switch number(below: 6) {
    case 0:
      return make([
        value, " LIKE\(options) ", argument(pick(["*", "a*", "?", "*\\**", "*ß*", "*b?", "", "\\\\", "?\\?*"])),
      ])
    case 1:
      return make([
        value, " MATCHES\(options) ", argument(pick([".*", "[aä]b?", "a|b", "\\w+", "STRASSE", "(?i)A.*"])),
      ])
    case 2:
      return make([
        value, " ", pick(["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE"]), "\(options) ", text(scope.deeper),
      ])
    case 3 where !value.isQuantified:
      return make([argument(pick(Self.texts)), " ", pick(["CONTAINS", "BEGINSWITH", "IN"]), "\(options) ", value])
    default:
      return make([
        value, " ", pick(["CONTAINS", "BEGINSWITH", "ENDSWITH"]), "\(options) ", argument(pick(Self.texts)),
      ])
    }
  }

  private mutating func moment(_ scope: Scope) -> Made {
    guard let value = date(scope) else { return objects(scope) }
    return compare(value, scope, Self.dates) { $0.date(scope.deeper) ?? value }
  }

  private mutating func bytes(_ scope: Scope) -> Made {
    guard ["Book", "Comic"].contains(scope.entity) else { return objects(scope) }
    let (name, constants): (String, [Any]) =
      switch number(below: 3) {
      case 0: ("uuid", Self.uuids)
      case 1: ("link", Self.links)
      default: ("cover", [Data(), Data([1]), Data([1, 2])])
      }
    let value = Made(format: scope.prefix + name)
    return compare(value, scope, constants) { _ in value }
  }

  /// ANY, SOME, ALL and NONE over the values or objects of a relationship.
  private mutating func quantified(_ scope: Scope) -> Made {
    let (path, entity) = pick(Self.toManys(scope))
    let modifier = pick(["ANY", "SOME", "ALL", "NONE"])
    let inner = modifier == "ALL" || modifier == "NONE" ? scope.negated : scope
    let union = chance(15) ? pick([".@unionOfObjects", ".@distinctUnionOfObjects"]) : ""
    switch number(below: 4) {
    case 0:
      let names: [String: [String]] = ["Tag": ["label"], "Author": ["name", "passport.number"]]
      let value = Made(format: "\(modifier) \(path)\(union).\(pick(names[entity] ?? ["title", "author.name"]))")
      if chance(40) { return matching(value, inner) }
      return compare(value, inner, Self.texts) { $0.text(inner.deeper) }
    case 1 where entity == "Book":
      let value = Made(format: "\(modifier) \(path)\(union).\(pick(["pages", "rating", "price", "weight", "isRead"]))")
      return compare(value, inner, Self.numbers) { $0.quantity(inner.deeper) }
    case 2 where entity == "Book":
      return make(["\(modifier) \(path).author.born \(relation(inner)) ", argument(pick(Self.dates))])
    default:
      if chance(50) { return Made(format: "\(modifier) \(path) == \(scope.object)") }
      let (other, _) = pick(Self.toManys(scope).filter { $0.entity == entity })
      return Made(format: "\(modifier) \(path) IN \(other)")
    }
  }

  /// A value among the values of a relationship.
  private mutating func membership(_ scope: Scope) -> Made {
    let (path, entity) = pick(Self.toManys(scope))
    let options = options()
    switch entity {
    case "Tag":
      if chance(50) { return make([text(scope.deeper), " IN\(options) \(path).label"]) }
      return make(["\(path).label CONTAINS\(options) ", text(scope.deeper)])
    case "Author": return make([text(scope.deeper), " IN\(options) \(path).name"])
    default:
      if chance(50) { return make([quantity(scope.deeper), " IN \(path).pages"]) }
      return make(["\(path).title CONTAINS\(options) ", text(scope.deeper)])
    }
  }

  private mutating func objects(_ scope: Scope) -> Made {
    let p = scope.prefix
    let candidates = pick(people + [nil])
    switch scope.entity {
    case "Author":
      let format = pick(["passport == nil", "passport.holder == \(scope.object)", "\(scope.object) IN books.author"])
      return Made(format: format.hasPrefix("passport") ? p + format : "\(scope.object) IN \(p)books.author")
    case "Tag":
      return Made(format: "\(scope.object) IN \(p)\(pick(["ordered", "orderedBy"]))")
    default:
      switch number(below: 6) {
      case 0: return make([p, pick(["author", "author.objectID", "author.self"]), " == ", argument(candidates)])
      case 1: return make([p, "author IN ", argument((0..<2).map { _ in pick(people) })])
      case 2: return make([p, "author.passport \(scope.isNegated ? pick(["==", "!="]) : "==") nil"])
      case 3: return make([scope.object, " IN \(p)author.books"])
      case 4: return make([scope.object, pick(["", ".objectID"]), " IN ", argument((0..<3).map { _ in pick(books) })])
      default: return make([scope.object, " == ", argument(pick(books))])
      }
    }
  }

  /// The entity of an object, of a related one, or of the members of a relationship.
  private mutating func entity(_ scope: Scope) -> Made {
    let toOnes = ["Book", "Comic"].contains(scope.entity) ? ["author."] : []
    let start = scope.prefix + pick([""] + toOnes)
    switch number(below: 5) {
    case 0: return make(["\(start)entity \(scope.isNegated ? pick(["==", "!="]) : "==") ", argument(pick(entities))])
    case 1: return make(["\(start)entity IN ", argument((0..<2).map { _ in pick(entities) })])
    case 2: return matching(Made(format: "\(start)entity.name"), scope)
    case 3:
      let (path, _) = pick(Self.toManys(scope))
      return make([pick(["ANY ", "SOME "]), "\(path).entity == ", argument(pick(entities))])
    default: return make(["\(start)entity.name == ", argument(pick(["Book", "Comic", "Author", "tag"]))])
    }
  }

  /// Values of a kind that the property never has.
  private mutating func mismatch(_ scope: Scope) -> Made {
    let values: [Any] = [5, "2", Self.dates[1], Self.uuids[0], Self.links[0], Data([1]), 2.5, true]
    let value =
      switch number(below: 3) {
      case 0: text(scope.deeper)
      case 1: quantity(scope.deeper)
      default: date(scope.deeper) ?? text(scope.deeper)
      }
    if chance(20) { return make([value, " IN ", argument([pick(values), pick(values)])]) }
    return make([value, " \(relation(scope)) ", argument(pick(values))])
  }

  // MARK: Values

  private static func toManys(_ scope: Scope) -> [(path: String, entity: String)] {
    let paths: [(String, String)] =
      switch scope.entity {
      case "Author": [("books", "Book")]
      case "Tag": [("books", "Book"), ("ordered", "Tag"), ("orderedBy", "Tag")]
      default: [("tags", "Tag"), ("author.books", "Book")]
      }
    return paths.map { (scope.prefix + $0.0, $0.1) }
  }

  private mutating func text(_ scope: Scope) -> Made {
    let paths =
      switch scope.entity {
      case "Author": ["name", "passport.number"]
      case "Tag": ["label"]
      case "Comic": ["title", "author.name", "author.passport.number", "artist"]
      default: ["title", "author.name", "author.passport.number", "artist"]
      }
    let path = Made(format: scope.prefix + pick(paths))
    guard scope.depth > 0, chance(30) else { return path }
    switch number(below: 8) {
    case 6:
      return make([
        "FUNCTION(", text(scope.deeper), ", ",
        pick([
          "'uppercaseString'", "'capitalizedString'", "'substringToIndex:', 1", "'substringFromIndex:', 2",
          "'stringByAppendingString:', 'b'", "'stringByReplacingOccurrencesOfString:withString:', 'a', 'b'",
        ]), ")",
      ])
    case 7: return make(["FUNCTION(", Made(format: scope.prefix + whole(scope)), ", 'stringValue')"])
    case 0: return make([pick(["lowercase:(", "lowercase(", "uppercase:(", "canonical:("]), text(scope.deeper), ")"])
    case 1: return make(["noindex:(", text(scope.deeper), ")"])
    case 2:
      let test = predicate(scope.negated.with { $0.depth = 0 })
      return make([
        "TERNARY(", test, ", ", text(scope.deeper), ", ",
        pick(
          ["nil", "'a'", "title"].filter { scope.entity.hasSuffix("k") || $0 != "title" }.map {
            $0 == "title" ? scope.prefix + $0 : $0
          }), ")",
      ])
    case 3: return make(["CAST(", Made(format: scope.prefix + whole(scope)), ", 'NSString')"])
    case 4: return make(["CAST(", text(scope.deeper), ", 'NSString')"])
    default: return argument(pick(Self.texts))
    }
  }

  private func whole(_ scope: Scope) -> String {
    switch scope.entity {
    case "Author": "books.@count"
    case "Tag": "ordered.@count"
    default: "pages"
    }
  }

  private mutating func date(_ scope: Scope) -> Made? {
    let path: String? =
      switch scope.entity {
      case "Author": "born"
      case "Tag": nil
      default: "author.born"
      }
    guard let path else { return nil }
    guard scope.depth > 0, chance(30) else { return Made(format: scope.prefix + path) }
    if chance(40) { return make(["CAST(", quantity(scope.deeper), ", 'NSDate')"]) }
    if chance(40) {
      return make(["FUNCTION(\(scope.prefix)\(path), 'dateByAddingTimeInterval:', ", quantity(scope.deeper), ")"])
    }
    let test = predicate(scope.negated.with { $0.depth = 0 })
    return make(["TERNARY(", test, ", \(scope.prefix)\(path), ", argument(pick(Self.dates)), ")"])
  }

  private mutating func quantity(_ scope: Scope) -> Made {
    let collections = Self.toManys(scope)
    let ownPaths = ["Book", "Comic"].contains(scope.entity) ? ["pages", "rating", "price", "weight", "isRead"] : []
    guard scope.depth > 0, chance(45) else {
      if chance(20) || ownPaths.isEmpty { return aggregate(pick(collections)) }
      return Made(format: scope.prefix + pick(ownPaths))
    }
    let inner = scope.deeper
    switch number(below: 16) {
    case 15:
      if chance(50) { return make(["FUNCTION(", text(inner), ", ", pick(["'length'", "'integerValue'"]), ")"]) }
      return date(inner).map { make(["FUNCTION(", $0, ", 'timeIntervalSinceReferenceDate')"]) }
        ?? aggregate(pick(collections))
    case 0, 1: return make(["(", quantity(inner), pick([" + ", " - ", " * ", " / "]), quantity(inner), ")"])
    case 2: return make(["(", quantity(inner), pick([" ** 2", " & 3", " | 4", " ^ 1", " << 2", " >> 1"]), ")"])
    case 3:
      return make([
        pick(["abs:(", "ceiling:(", "floor:(", "trunc:(", "sqrt:(", "exp:(", "ln:(", "log:(", "noindex:("]),
        quantity(inner), ")",
      ])
    case 4: return make([pick(["-", "~"]), quantity(inner.with { $0.depth = 0 })])
    case 5: return make(["modulus:by:(", quantity(inner), ", ", argument(pick([0, 2, -3])), ")"])
    case 6: return make(["length:(", text(inner), ")"])
    case 7:
      return make([
        pick(["min:(", "max:(", "sum:(", "average:(", "median:(", "stddev:(", "count:("]), quantity(inner), ", ",
        quantity(inner), ", ", argument(pick([1, 2.5, -1])), ")",
      ])
    case 8:
      let test = predicate(scope.negated.with { $0.depth = 0 })
      return make(["TERNARY(", test, ", ", quantity(inner), ", ", pick(["nil", "0", "2.5"]), ")"])
    case 9: return make(["CAST(", text(inner), ", 'NSNumber')"])
    case 10: return date(inner).map { make(["CAST(", $0, ", 'NSNumber')"]) } ?? aggregate(pick(collections))
    case 11:
      return make([
        pick(["bitwiseAnd:with:(", "bitwiseOr:with:(", "bitwiseXor:with:(", "leftshift:by:(", "rightshift:by:("]),
        quantity(inner), ", ", argument(pick([0, 1, 3, 5])), ")",
      ])
    case 12: return make(["CAST(", quantity(inner), ", 'NSNumber')"])
    case 13: return subquery(pick(collections), scope)
    default: return argument(pick(Self.numbers))
    }
  }

  private mutating func aggregate(_ collection: (path: String, entity: String)) -> Made {
    guard collection.entity == "Book", chance(75) else {
      if chance(30) {
        let name = collection.entity == "Tag" ? "label" : "title"
        return Made(
          format: "count:(\(collection.path).\(pick(["@unionOfObjects", "@distinctUnionOfObjects"])).\(name))")
      }
      return Made(format: pick(["\(collection.path).@count", "count:(\(collection.path))"]))
    }
    let name = pick(["pages", "rating", "price", "weight"])
    if chance(50) { return Made(format: "\(collection.path).\(pick(["@sum", "@avg", "@min", "@max"])).\(name)") }
    let function = pick(["sum", "average", "min", "max", "count", "median", "stddev"])
    return Made(format: "\(function):(\(collection.path).\(name))")
  }

  private mutating func subquery(_ collection: (path: String, entity: String), _ scope: Scope) -> Made {
    let variable = "v\(scope.depth)"
    let inner = Scope(
      entity: collection.entity, prefix: "$\(variable).", isNegated: scope.isNegated, depth: min(scope.depth - 1, 1))
    let test = predicate(inner)
    let end = collection.entity == "Book" ? pick(["@count", "@count", "@sum.pages", "@max.rating"]) : "@count"
    return make(["SUBQUERY(\(collection.path), $\(variable), ", test, ").\(end)"])
  }
}
