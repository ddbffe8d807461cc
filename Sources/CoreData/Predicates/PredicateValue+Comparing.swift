/// Equality, order and hash of the kinds. They agree with SQLite's comparison of the stored forms, since the same
/// predicate may be evaluated in either place.
///
/// Source: https://www.sqlite.org/datatype3.html, "Sort Order"; SQLite also orders numbers before texts and texts
/// before blobs, which predicates do not.
extension PredicateValue: Hashable {
  /// Numbers of different kinds are equal if neither is less. Two NaN are unequal, two nil are equal. An `opaque` value
  /// equals nothing, not even itself.
  static func == (left: PredicateValue, right: PredicateValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)): a == b
    case (.string(let a), .string(let b)): StringMatching.isIdentical(a, b)
    case (.date(let a), .date(let b)): a == b
    case (.data(let a), .data(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.url(let a), .url(let b)): StringMatching.isIdentical(a, b)
    case (.object(let a), .object(let b)): a === b || a.isEqual(b)
    case (.collection(let a), .collection(let b)): isSameCollection(a, b)
    default: left.order(to: right) == .orderedSame
    }
  }

  /// Equal values have equal hashes: all numbers hash as doubles, so that 1, 1.0 and a decimal 1 meet. Collections hash
  /// alike, since they may be in any order; sets of collections are rare.
  func hash(into hasher: inout Hasher) {
    switch self {
    case .null, .opaque, .collection: hasher.combine(0)
    case .integer, .real, .decimal: hasher.combine(double)
    case .string(let value), .url(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value)
    case .data(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .object(let value): hasher.combine(value.hash)
    }
  }

  /// The order of two values. Nil if they have none: values of different kinds, nil, collections, and objects that are
  /// unsaved or of different entities.
  ///
  /// A decimal and a double compare as doubles, which is how SQLite would compare the stored numbers. Saved objects of
  /// one entity are ordered by their keys.
  ///
  /// ```text
  /// 9007199254740993 and 9007199254740992.0    greater, although the integer has no double of its own
  /// "Z" and "a"                                less, by bytes
  /// 0.1 (decimal) and 0.1 (double)             same, as doubles
  /// 1 and "1"                                  nil: different kinds
  /// NaN and anything                           nil
  /// [1] and [1]                                nil, although they are equal
  /// ```
  func order(to other: PredicateValue) -> ComparisonResult? {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): PredicateValue.order(a, b)
    case (.real(let a), .real(let b)): PredicateValue.order(a, b)
    case (.integer(let a), .real(let b)): PredicateValue.order(a, b)
    case (.real(let a), .integer(let b)): PredicateValue.order(b, a).map(PredicateValue.reversed)
    case (.decimal(let a), .decimal(let b)): PredicateValue.order(a, b)
    case (.decimal(let a), .integer(let b)): PredicateValue.order(a, Decimal(b))
    case (.integer(let a), .decimal(let b)): PredicateValue.order(Decimal(a), b)
    case (.decimal, .real(let b)): double.flatMap { PredicateValue.order($0, b) }
    case (.real(let a), .decimal): other.double.flatMap { PredicateValue.order(a, $0) }
    case (.string(let a), .string(let b)), (.url(let a), .url(let b)): StringMatching.order(a, b)
    case (.date(let a), .date(let b)): PredicateValue.order(a, b)
    case (.data(let a), .data(let b)): PredicateValue.order(bytes: a, b)
    case (.uuid(let a), .uuid(let b)):
      withUnsafeBytes(of: a.uuid) { a in withUnsafeBytes(of: b.uuid) { b in PredicateValue.order(bytes: a, b) } }
    case (.object(let a), .object(let b)): PredicateValue.order(ofKeys: a, b)
    default: nil
    }
  }

  /// The order of two objects: that which the class defines itself, such as history tokens, or that of the rows' keys,
  /// which is the order in which they were given out. It lets a fetch continue after an object: `self > %@`.
  private static func order(ofKeys a: AnyObject, _ b: AnyObject) -> ComparisonResult? {
    if let a = a as? any OrderedValue { return a.order(to: b) }
    guard let a = (a as? any PersistentKeyed)?.persistentKey, let b = (b as? any PersistentKeyed)?.persistentKey,
      a.entityName == b.entityName
    else { return nil }
    return order(a.key, b.key)
  }

  /// Nil for NaN, which is neither less, nor greater, nor equal.
  static func order<T: Comparable>(_ a: T, _ b: T) -> ComparisonResult? {
    a < b ? .orderedAscending : a > b ? .orderedDescending : a == b ? .orderedSame : nil
  }

  /// Exact: the integer is not converted to a double, which could not hold it.
  ///
  /// 2^63 is the least double that no `Int64` reaches, and -2^63 is one that it does. Between them the double's whole
  /// part is exact, and decides unless it is equal; then the fraction does.
  ///
  /// Source: `sqlite3IntFloatCompare` in SQLite's vdbeaux.c follows the same reasoning.
  static func order(_ a: Int64, _ b: Double) -> ComparisonResult? {
    if b.isNaN { return nil }
    if b >= 9_223_372_036_854_775_808.0 { return .orderedAscending }
    if b < -9_223_372_036_854_775_808.0 { return .orderedDescending }
    let whole = Int64(b)
    return a == whole ? order(0.0, b - b.rounded(.towardZero)) : order(a, whole)
  }

  /// The order with both sides exchanged.
  static func reversed(_ result: ComparisonResult) -> ComparisonResult {
    switch result {
    case .orderedAscending: .orderedDescending
    case .orderedSame: .orderedSame
    case .orderedDescending: .orderedAscending
    }
  }

  /// The order of `memcmp`, then the shorter first: SQLite's order of blobs.
  static func order(bytes a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> ComparisonResult {
    if a.elementsEqual(b) { return .orderedSame }
    return a.lexicographicallyPrecedes(b) ? .orderedAscending : .orderedDescending
  }

  /// Whether both have the same members equally often, in any order, since a set has no order.
  ///
  /// Complexity: proportional to the number of members, unless they are collections themselves.
  private static func isSameCollection(_ a: [Any?], _ b: [Any?]) -> Bool {
    guard a.count == b.count else { return false }
    var counts: [PredicateValue: Int] = [:]
    for member in a { counts[PredicateValue(member), default: 0] += 1 }
    for member in b {
      guard let count = counts[PredicateValue(member)], count > 0 else { return false }
      counts[PredicateValue(member)] = count - 1
    }
    return true
  }
}
