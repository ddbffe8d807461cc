/// What a derived attribute computes, as far as triggers can.
///
/// What an expression of the model becomes:
///
/// ```text
/// now()                        .now
/// title                        .copy(relationship: nil, attribute: "title", functions: [])
/// canonical:(author.name)      .copy(relationship: "author", attribute: "name", functions: ["canonical:"])
/// books.@count, count:(books)  .aggregate(.count, relationship: "books", attribute: nil)
/// books.@sum.pages             .aggregate(.sum, relationship: "books", attribute: "pages")
/// pages * 2                    nil: no trigger keeps it
/// ```
///
/// Rows in memory need none of this: `DerivedRows` evaluates the expression itself.
package enum Derivation {
  /// The time of the save.
  case now
  /// An attribute's value, of the object itself or at the end of a to-one relationship, through functions of a text,
  /// outermost first.
  case copy(relationship: String?, attribute: String, functions: [String])
  /// A value of all members of a to-many relationship.
  case aggregate(Aggregate, relationship: String, attribute: String?)

  /// Raw values are the names of the functions of expressions, without the colon: `sum:` is `sum`.
  ///
  /// ```text
  /// pages 100, 200, nil    average:(books.pages)   150     of no books nil
  ///                        books.@avg.pages        100     of no books 0
  /// ```
  package enum Aggregate: String {
    case count, sum, min, max
    /// Divides by the number of members with a value.
    case average
    /// `@avg` in a key path: divides by the number of all members.
    case averageOfPath = "@avg"

    /// The value in SQL of a column of members; of nothing, a count and a sum are 0.
    ///
    /// `TOTAL` is a sum as a floating-point number, which does not overflow as `SUM` of integers does
    /// (https://www.sqlite.org/lang_aggfunc.html).
    func sql(_ column: String?) -> String {
      switch self {
      case .count: "COUNT(*)"
      case .sum: "IFNULL(SUM(\(column ?? "NULL")), 0)"
      case .min: "MIN(\(column ?? "NULL"))"
      case .max: "MAX(\(column ?? "NULL"))"
      case .average: "AVG(\(column ?? "NULL"))"
      case .averageOfPath: "IFNULL(TOTAL(\(column ?? "NULL")) / COUNT(*), 0.0)"
      }
    }
  }

  /// - Returns: nil for an expression of another form.
  init?(_ expression: NSExpression?) {
    switch expression?.node {
    case .keyPath(nil, let path):
      guard let derivation = Derivation(path: path.keys) else { return nil }
      self = derivation
    case .function("now", _, _): self = .now
    case .function(let name, nil, let arguments) where arguments.count == 1:
      guard let argument = arguments.first, case .keyPath(nil, let path) = argument.node else {
        guard ["canonical:", "uppercase:", "lowercase:"].contains(name),
          case .copy(let relationship, let attribute, let functions)? = Derivation(arguments.first)
        else { return nil }
        self = .copy(relationship: relationship, attribute: attribute, functions: [name] + functions)
        return
      }
      if let aggregate = Aggregate(rawValue: String(name.dropLast())) {
        guard (1...2).contains(path.keys.count) else { return nil }
        self = .aggregate(aggregate, relationship: path.keys[0], attribute: path.keys.dropFirst().first)
        return
      }
      guard ["canonical:", "uppercase:", "lowercase:"].contains(name),
        case .copy(let relationship, let attribute, _)? = Derivation(path: path.keys)
      else { return nil }
      self = .copy(relationship: relationship, attribute: attribute, functions: [name])
    default: return nil
    }
  }

  /// `books.@count`, and `books.@sum.pages` with the operator before or after the attribute.
  private init?(path: [String]) {
    let names = path.filter { !$0.hasPrefix("@") }
    guard let sign = path.first(where: { $0.hasPrefix("@") }) else {
      guard (1...2).contains(names.count) else { return nil }
      self = .copy(relationship: names.count == 2 ? names[0] : nil, attribute: names[names.count - 1], functions: [])
      return
    }
    let name = sign == Aggregate.averageOfPath.rawValue ? sign : String(sign.dropFirst())
    guard let aggregate = Aggregate(rawValue: name), path.count == names.count + 1, (1...2).contains(names.count),
      (names.count == 2) == (aggregate != .count)
    else { return nil }
    self = .aggregate(aggregate, relationship: names[0], attribute: names.dropFirst().first)
  }
}
