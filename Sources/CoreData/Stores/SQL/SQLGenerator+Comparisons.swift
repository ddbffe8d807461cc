extension SQLGenerator {
  /// `==` and `!=`. Different kinds are unequal; two nils are equal.
  ///
  /// ```text
  /// title == "Kindred"          t0.ZTITLE = ?
  /// title == nil                t0.ZTITLE IS NULL
  /// title == author.name        t0.ZTITLE IS t1.ZNAME          both may be nil, and are equal then
  /// author == %@                t0.ZAUTHOR = ?                 the author's key
  /// favourite == %@ (a Novel)   t0.ZFAVOURITE = ? AND t0.Z2_FAVOURITE = 3
  /// favourite == %@ (a Book)    t0.ZFAVOURITE = ? AND coalesce(nullif(t0.Z2_FAVOURITE, 0), 2) = 2
  /// pages == %@ (a date)        FALSE                          different kinds are never equal
  /// title != 5                  t0.ZTITLE <> ?                 with the text "5", as Apple's store compares
  /// ```
  func equality(_ left: SQLOperand, _ relation: SQLRelation, _ right: SQLOperand) throws -> SQL {
    switch (left, right) {
    case (.constant, .scalar), (.constant, .object): return try equality(right, relation, left)
    case (.scalar(let column, let type), .constant(let constant)):
      return try equality(ofColumn: column, type, to: constant, relation)
    case (.scalar(let a, let type), .scalar(let b, let otherType)):
      if type == .opaque || otherType == .opaque { throw SQLGenerationError.incomparable("transformable values") }
      return equality(ofColumns: a, b, areComparable: type.isComparable(with: otherType), relation)
    case (.object(let key, let entityColumn, let mapping), .constant(let constant)):
      return equality(ofObjectIn: mapping, key: key, entity: entityColumn, to: constant, relation)
    case (.object(let a, _, let mapping), .object(let b, _, let otherMapping)):
      return equality(ofColumns: a, b, areComparable: mapping.table == otherMapping.table, relation)
    case (.object(let a, _, _), .scalar(let b, _)), (.scalar(let a, _), .object(let b, _, _)):
      return equality(ofColumns: a, b, areComparable: false, relation)
    case (.toMany(let relationship), _), (_, .toMany(let relationship)):
      throw SQLGenerationError.toManyWithoutModifier(relationship.path)
    case (.aggregate, _), (_, .aggregate), (.constant, .constant):
      throw SQLGenerationError.incomparable("collections for equality")
    }
  }

  /// The column stands on the left and the constant on the right. `=` and not `IS`: an index serves both, and a
  /// constant that is not nil makes them the same, except below NOT.
  private func equality(
    ofColumn column: SQL, _ type: SQLType, to constant: PredicateValue, _ relation: SQLRelation
  ) throws -> SQL {
    let isEqual = relation.type == .equalTo
    if constant.isNull { return isEqual ? "\(column) IS NULL" : "\(column) IS NOT NULL" }
    if type == .opaque { throw SQLGenerationError.incomparable("transformable values") }
    guard let value = bound(constant, comparedWith: type) else { return differentKinds(column, relation) }
    let parameter = dialect.parameter(value, type)
    if isEqual { return "\(column) = \(parameter)" }
    return relation.environment.isNegated
      ? "\(column) \(raw: dialect.nullSafeDifferent) \(parameter)" : "\(column) <> \(parameter)"
  }

  /// The constant as a column of the type compares it: a number as text or a text as a number, as Apple's store does,
  /// and an entity as its number here; nil if the kinds differ.
  ///
  /// ```text
  /// column    constant      bound as
  /// text      5             the text "5"
  /// integer   "341"         341, if the text is a number
  /// date      a Date        seconds since 2001, a REAL
  /// uuid      a UUID        its 16 bytes
  /// date      "yesterday"   nothing: the kinds differ
  /// entity    Book          2, its number in this store
  /// ```
  func bound(_ constant: PredicateValue, comparedWith type: SQLType) -> SQLiteValue? {
    switch type {
    case .entity:
      guard case .object(let object) = constant, let entity = object as? NSEntityDescription,
        let mapping = entity.name.flatMap({ schema.entitiesByName[$0] }), mapping.entity.isEqual(entity)
      else { return nil }
      return .integer(Int64(mapping.number))
    case .text: return type.bound(constant.asText)
    case .decimal where dialect.hasTypes:
      if case .decimal(let value) = constant.asNumber { return value.isNaN ? nil : .text(value.description) }
      return type.bound(constant.asNumber)
    default: return type.bound(type.isNumeric ? constant.asNumber : constant)
    }
  }

  /// A comparison with a constant of another kind. A plain `!=` omits NULL, as with any constant.
  private func differentKinds(_ column: SQL, _ relation: SQLRelation) -> SQL {
    if relation.type == .equalTo { return .no }
    return relation.environment.isNegated ? .yes : "\(column) IS NOT NULL"
  }

  /// Compares two columns of each row.
  ///
  /// ```text
  /// title == author.name         t0.ZTITLE IS t1.ZNAME                            nil equals nil
  /// title != author.name         t0.ZTITLE <> t1.ZNAME                            a nil on either side is left out
  /// NOT title != author.name     (t0.ZTITLE IS NOT t1.ZNAME) IS NOT TRUE
  /// title == pages               t0.ZTITLE IS NULL AND t0.ZPAGES IS NULL          a text never equals a number
  /// ```
  private func equality(ofColumns a: SQL, _ b: SQL, areComparable: Bool, _ relation: SQLRelation) -> SQL {
    let isEqual = relation.type == .equalTo
    guard areComparable else {
      // Two nil values are equal nevertheless.
      return isEqual ? "\(a) IS NULL AND \(b) IS NULL" : "\(a) IS NOT NULL OR \(b) IS NOT NULL"
    }
    if isEqual { return "\(a) \(raw: dialect.nullSafeEqual) \(b)" }
    return relation.environment.isNegated ? "\(a) \(raw: dialect.nullSafeDifferent) \(b)" : "\(a) <> \(b)"
  }

  /// `author == %@` compares keys, and where the destination has subentities also the number of the row's entity. An
  /// object without a row in this store equals nothing.
  private func equality(
    ofObjectIn mapping: TableMapping, key: SQL, entity entityColumn: SQL?, to constant: PredicateValue,
    _ relation: SQLRelation
  ) -> SQL {
    let isEqual = relation.type == .equalTo
    if constant.isNull { return isEqual ? "\(key) IS NULL" : "\(key) IS NOT NULL" }
    guard let row = row(of: constant, in: mapping) else { return differentKinds(key, relation) }
    var condition: SQL = "\(key) = \(bind: .integer(row.key))"
    if let entityColumn {
      // NULL and 0 stand for the destination itself, as in `RowDecoder`. The key's index finds the row in any case.
      let entity: SQL =
        row.number == mapping.number ? "coalesce(nullif(\(entityColumn), 0), \(raw: String(row.number)))" : entityColumn
      condition = "\(condition) AND \(entity) = \(raw: String(row.number))"
    }
    if isEqual { return condition }
    return relation.environment.isNegated ? "(\(condition)) IS NOT TRUE" : "NOT (\(condition))"
  }

  /// The row of an object that may be of the mapping's entity; nil if it cannot be, or has no row.
  ///
  /// Objects that are not saved have a temporary ID and no row; those of another store have a key that means another
  /// row here. Both are nil, and the comparison is of different kinds.
  func row(of constant: PredicateValue, in mapping: TableMapping) -> (key: Int64, number: Int)? {
    guard case .object(let object) = constant, let keyed = object as? any PersistentKeyed,
      let (name, key) = resolve(keyed), let actual = schema.entitiesByName[name],
      mapping.numbersIncludingSubentities.contains(actual.number)
    else { return nil }
    return (key, actual.number)
  }

  /// `<`, `<=`, `>`, `>=`. Values without an order never match. Objects of one table are ordered by their keys, as by a
  /// sort descriptor, so that a fetch can continue after an object.
  ///
  /// ```text
  /// pages > 200      t0.ZPAGES > ?
  /// 200 < pages      the same: a constant on the left changes sides, and the operator with it
  /// SELF > %@        t0.Z_PK > ?          continues a fetch that is ordered by self
  /// title < 5        t0.ZTITLE < ?        with the text "5"
  /// pages < nil      FALSE
  /// ```
  func order(_ left: SQLOperand, _ relation: SQLRelation, _ right: SQLOperand) throws -> SQL {
    let symbol = relation.type.symbol
    switch (left, right) {
    case (.constant(let left), .constant(let right)):
      return Comparison(type: relation.type, options: relation.options).holds(left, right) ? .yes : .no
    case (.constant, .scalar): return try order(right, relation.with(relation.type.mirrored), left)
    case (.scalar(let column, let type), .constant(let constant)):
      if type == .opaque, !constant.isNull { throw SQLGenerationError.incomparable("transformable values") }
      guard type != .entity, let value = bound(constant, comparedWith: type) else { return .no }
      return "\(column) \(raw: symbol) \(dialect.parameter(value, type))"
    case (.scalar(let a, let type), .scalar(let b, let otherType)):
      if type == .opaque || otherType == .opaque { throw SQLGenerationError.incomparable("transformable values") }
      return type != .entity && type.isComparable(with: otherType) ? "\(a) \(raw: symbol) \(b)" : .no
    case (.constant, .object): return try order(right, relation.with(relation.type.mirrored), left)
    case (.object(let key, _, let mapping), .constant(let constant)):
      guard let row = row(of: constant, in: mapping) else { return .no }
      return "\(key) \(raw: symbol) \(bind: .integer(row.key))"
    case (.toMany(let relationship), _), (_, .toMany(let relationship)):
      throw SQLGenerationError.toManyWithoutModifier(relationship.path)
    default: return .no
    }
  }

  /// The string operators. Values that are not strings never match.
  ///
  /// With a pattern in another column nothing can be prepared: `title CONTAINS author.name` is `cd_contains(t0.ZTITLE,
  /// t1.ZNAME, 0)`, and the function folds both texts in each row.
  func textComparison(_ left: SQLOperand, _ relation: SQLRelation, _ right: SQLOperand) throws -> SQL {
    if case .toMany(let relationship) = left { throw SQLGenerationError.toManyWithoutModifier(relationship.path) }
    if case .toMany(let relationship) = right { throw SQLGenerationError.toManyWithoutModifier(relationship.path) }
    guard let subject = textExpression(left) else { return .no }
    if case .constant(.string(let pattern)) = right {
      return try textComparison(of: subject, relation, constant: pattern)
    }
    guard let pattern = textExpression(right) else { return .no }
    if !dialect.hasFunctions { return try storedText(subject, relation, pattern) }
    let options = relation.type == .matches ? relation.options : relation.folding
    return try call(relation.type.textFunction, on: subject, with: pattern, options: Int64(options.rawValue))
  }

  /// Compares a text of each row with a constant; what it costs depends on the operator and its options.
  ///
  /// ```text
  /// predicate                    SQL                                    rows that are looked at
  /// ---------------------------  -------------------------------------  --------------------------------
  /// title BEGINSWITH "The "      t0.ZTITLE >= ? AND t0.ZTITLE < ?       a range of the index, if there is one
  /// title BEGINSWITH[c] "the "   cd_begins(t0.ZTITLE, ?, 257)           all
  /// title CONTAINS "red"         instr(t0.ZTITLE, ?) > 0                all
  /// title ENDSWITH "ed"          cd_ends(t0.ZTITLE, ?, 256)             all
  /// title LIKE[c] "k?n*"         cd_like(t0.ZTITLE, ?, 257)             all
  /// title MATCHES "K.*"          cd_matches(t0.ZTITLE, ?, 0)            all, with a regular expression for each
  /// title CONTAINS ""            FALSE                                  none
  /// ```
  ///
  /// The last argument has the options, and 256 for a pattern that is folded already (`SQLFunctions.isFolded`). The
  /// functions run the code of predicates in memory, so that "é", "ß" and emoji compare alike in both; SQLite's own
  /// LIKE folds ASCII letters only (https://www.sqlite.org/lang_expr.html, "The LIKE, GLOB, REGEXP, MATCH, and extract
  /// operators").
  private func textComparison(of subject: SQL, _ relation: SQLRelation, constant pattern: String) throws -> SQL {
    let folding = relation.folding
    if relation.type == .matches {
      guard StringMatching.regularExpression(pattern, relation.options) != nil else {
        throw SQLGenerationError.invalidPattern
      }
      if !dialect.hasFunctions, relation.options.isEmpty, let plain = PlainExpression(pattern) {
        return "\(subject) ~ \(bind: .text(plain.posix))"
      }
      return try call(.matches, on: subject, with: "\(bind: .text(pattern))", options: Int64(relation.options.rawValue))
    }
    if folding.isEmpty, relation.type == .beginsWith { return begins(subject, with: pattern) }
    // instr finds the empty string in every text, predicates find it in none.
    if pattern.isEmpty, relation.type == .contains { return .no }
    if folding.isEmpty, relation.type == .contains {
      return "\(raw: dialect.positionFunction)(\(subject), \(bind: .text(pattern))) > 0"
    }
    let folded = StringMatching.folded(pattern, folding)
    if !dialect.hasFunctions { return try storedText(subject, relation, constant: folded) }
    return try call(
      relation.type.textFunction, on: subject, with: "\(bind: .text(folded))",
      options: Int64(folding.rawValue) | SQLFunctions.isFolded)
  }

  /// A range, which an index can serve: up to the least text above all those with the prefix.
  ///
  /// ```text
  /// "The "         ZTITLE >= 'The ' AND ZTITLE < 'The!'       the scalar after the space
  /// "z\u{10FFFF}"  ZTITLE >= 'z\u{10FFFF}' AND ZTITLE < '{'   nothing is after U+10FFFF: the one before it grows
  /// "\u{10FFFF}"   ZTITLE >= '\u{10FFFF}'                     no upper bound
  /// ```
  ///
  /// SQLite can turn LIKE 'The %' into such a range by itself, under conditions that bound parameters and collations
  /// spoil (https://www.sqlite.org/optoverview.html, "The LIKE Optimization").
  private func begins(_ subject: SQL, with prefix: String) -> SQL {
    if prefix.isEmpty { return .no }
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      // D800…DFFF are not code points of a text. UTF-8's bytes are in the order of code points.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      scalars.append(scalar)
      let bound = String(String.UnicodeScalarView(scalars))
      return "\(subject) >= \(bind: .text(prefix)) AND \(subject) < \(bind: .text(bound))"
    }
    return "\(subject) >= \(bind: .text(prefix))"
  }

  private func call(_ function: SQLFunctions.Name, on subject: SQL, with other: SQL, options: Int64) throws -> SQL {
    if !dialect.hasFunctions { throw SQLGenerationError.unsupportedFunction(function.rawValue) }
    return "\(raw: function.rawValue)(\(subject), \(other), \(raw: String(options)))"
  }

  private func textExpression(_ operand: SQLOperand) -> SQL? {
    switch operand {
    case .scalar(let column, .text): column
    case .constant(.string(let text)): "\(bind: .text(text))"
    default: nil
    }
  }
}

extension NSComparisonPredicate.Operator {
  /// The operator with both sides exchanged.
  fileprivate var mirrored: NSComparisonPredicate.Operator {
    switch self {
    case .lessThan: .greaterThan
    case .lessThanOrEqualTo: .greaterThanOrEqualTo
    case .greaterThan: .lessThan
    case .greaterThanOrEqualTo: .lessThanOrEqualTo
    default: self
    }
  }

  fileprivate var textFunction: SQLFunctions.Name {
    switch self {
    case .beginsWith: .begins
    case .endsWith: .ends
    case .like: .like
    case .matches: .matches
    default: .contains
    }
  }
}
