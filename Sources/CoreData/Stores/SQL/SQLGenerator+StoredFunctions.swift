/// Texts in a database whose schema has the functions of `StoredTextFunction`. They give what the code in memory gives.
extension SQLGenerator {
  /// A call of one of the functions.
  ///
  /// Used by PostgreSQL's dialect only: a server runs no Swift. With the schema "library":
  ///
  /// ```text
  /// "library"._fold(t0."title")
  /// ```
  func call(_ function: StoredTextFunction, _ text: SQL) -> SQL {
    "\(raw: schema.prefix.quotedName).\(raw: function.rawValue)(\(text))"
  }

  /// The text folded as the options say.
  func folded(_ text: SQL, _ options: StringMatching.Options) throws -> SQL {
    guard let function = StoredTextFunction(folding: options) else { return text }
    guard dialect.hasTextFunctions else { throw SQLGenerationError.unsupportedFunction(function.rawValue) }
    return call(function, text)
  }

  /// Compares a text with a constant, which is folded already.
  ///
  /// ```text
  /// title BEGINSWITH[c] "the "    starts_with("library"._fold_case(t0."title"), ?)
  /// title ENDSWITH "ed"           right(t0."title", 2) = ?
  /// title CONTAINS[cd] "red"      strpos("library"._fold(t0."title"), ?) > 0
  /// title LIKE "k?n*"             t0."title" LIKE ?            with the pattern k_n%
  /// ```
  func storedText(_ subject: SQL, _ relation: SQLRelation, constant pattern: String) throws -> SQL {
    let text = try folded(subject, relation.folding)
    let parameter: SQL = "\(bind: .text(pattern))"
    // Nothing begins with the empty text, ends with it or contains it.
    if pattern.isEmpty, relation.type != .like { return .no }
    switch relation.type {
    case .beginsWith: return "starts_with(\(text), \(parameter))"
    case .endsWith: return "right(\(text), \(raw: String(pattern.unicodeScalars.count))) = \(parameter)"
    case .like: return "\(text) LIKE \(bind: .text(LikePattern(pattern).sql))"
    case .contains: return "strpos(\(text), \(parameter)) > 0"
    default: throw SQLGenerationError.unsupportedFunction(relation.type.symbolForErrors)
    }
  }

  /// Compares two texts of each row.
  func storedText(_ subject: SQL, _ relation: SQLRelation, _ other: SQL) throws -> SQL {
    let text = try folded(subject, relation.folding)
    let part = try folded(other, relation.folding)
    switch relation.type {
    case .beginsWith: return "starts_with(\(text), \(part)) AND \(part) <> ''"
    case .endsWith: return "right(\(text), length(\(part))) = \(part) AND \(part) <> ''"
    case .contains: return "strpos(\(text), \(part)) > 0 AND \(part) <> ''"
    default: throw SQLGenerationError.unsupportedFunction(relation.type.symbolForErrors)
    }
  }

  /// The terms of ORDER BY for an order of texts.
  ///
  /// COLLATE "C" compares bytes, which in UTF-8 are in the order of the characters' numbers: the same on every server,
  /// whatever language it was set up with (https://www.postgresql.org/docs/15/collation.html).
  func storedOrder(_ text: SQL, _ ordering: StringOrdering, ascending: Bool) throws -> SQL {
    guard dialect.hasTextFunctions else { throw SQLGenerationError.unsupportedFunction(ordering.rawValue) }
    func term(_ text: SQL, _ ascending: Bool) -> SQL {
      "\(text) COLLATE \"C\" \(raw: ascending ? dialect.ascending : dialect.descending)"
    }
    let (letters, marks) = (call(.fold, text), call(.foldCase, text))
    // Lower case comes before upper case, against the order of the characters.
    let finer = [term(marks, ascending), term(text, !ascending)]
    switch ordering {
    case .binary: return term(text, ascending)
    case .caseInsensitive: return term(marks, ascending)
    case .localizedCaseInsensitive: return [term(letters, ascending), term(marks, ascending)].joined(", ")
    case .localized: return ([term(letters, ascending)] + finer).joined(", ")
    case .localizedStandard: return ([term(call(.natural, letters), ascending)] + finer).joined(", ")
    }
  }

  /// A function of a text; nil for one that the database does not have.
  func storedCall(_ function: PredicateFunction, _ operands: [SQLOperand]) -> SQLOperand? {
    guard dialect.hasTextFunctions, operands.count == 1, case .scalar(let text, .text) = operands[0] else { return nil }
    switch function {
    case .uppercase: return .scalar(call(.upper, text), .text)
    case .lowercase: return .scalar(call(.lower, text), .text)
    case .canonical: return .scalar(call(.fold, text), .text)
    // In units of UTF-16, of which characters beyond U+FFFF have two.
    case .length:
      return .scalar(
        "(char_length(\(text)) + char_length(regexp_replace(\(text), '[\\u0001-\\uffff]', '', 'g')))::bigint", .integer)
    default: return nil
    }
  }
}

extension LikePattern {
  /// The pattern as SQL's LIKE has it, with a backslash before characters that stand for themselves.
  var sql: String {
    var text = String.UnicodeScalarView()
    for step in steps {
      switch step {
      case .many: text.append("%")
      case .one: text.append("_")
      case .literal(let scalar):
        if ["%", "_", "\\"].contains(scalar) { text.append("\\") }
        text.append(scalar)
      }
    }
    return String(text)
  }
}

extension NSComparisonPredicate.Operator {
  fileprivate var symbolForErrors: String { self == .like ? "LIKE" : "MATCHES" }
}
