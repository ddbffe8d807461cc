/// The functions of texts that a store has in its schema: what predicates do to texts in memory, in the server's words.
///
/// ```text
/// title ==[cd] 'Émile'                            "app"._fold(t0."title") = $1                $1 = 'emile'
/// title CONTAINS[c] 'em'                          strpos("app"._fold_case(t0."title"), $1) > 0
/// order by localizedStandardCompare:              "app"._natural("app"._fold(t0."title")) COLLATE "C" ASC …, …
/// the derived attribute lowercase:(name)          NEW."sortName" := "app"."_lower"(NEW."name")
/// ```
///
/// The server's own functions follow its locales, which differ from machine to machine. These follow tables that are
/// made from the same code that runs in memory, so that both give the same texts. Most texts are ASCII, for which no
/// table is needed, or have letters of Latin alphabets only, for which a short one is enough.
///
/// They are IMMUTABLE, so people can make indexes over them, and a fetch uses these:
///
/// ```text
/// CREATE INDEX ON "app"."Book" ("app"._fold("title"))
/// ```
///
/// Such an index is right as long as the functions are the same. A new version of the tables (another Unicode) replaces
/// the functions; an index that people have made must then be made anew (REINDEX). Source: the pages "Function
/// Volatility Categories" and "Indexes on Expressions".
struct ServerTextFunctions {
  let address: ServerAddress

  func name(_ function: StoredTextFunction) -> String { address.qualified(function.rawValue) }

  /// What the comment of a function says: the version of these functions, and that of Unicode from whose tables they
  /// are made. `ServerTables.hasTextFunctions` compares it.
  static let version: String = "Core Data 1, Unicode \(unicode.major).\(unicode.minor)"

  /// Swift does not tell its version of Unicode. These characters came with 15.0, 15.1, 16.0 and 17.0.
  private static let unicode: Unicode.Version = {
    let witnesses: [UInt32] = [0x1E4D0, 0x2EBF0, 0x16D40, 0x16EA0]
    let ages = witnesses.compactMap { Unicode.Scalar($0)?.properties.age }
    return ages.max { ($0.major, $0.minor) < ($1.major, $1.minor) } ?? (14, 0)
  }()

  /// The statements that create the functions, or replace them.
  var statements: [String] {
    StoredTextFunction.allCases.flatMap { function -> [String] in
      guard let table = TextTables.shared.tables[function] else { return [natural] }
      return create(table, function)
    } + ["COMMENT ON FUNCTION \(name(.fold))(text) IS \(Self.version.quotedText)"]
  }

  /// A short function, which becomes a part of the statement that calls it, and a long one for texts that are not
  /// ASCII.
  ///
  /// ```text
  /// CREATE OR REPLACE FUNCTION "app"."_fold"(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  /// SELECT CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C") ELSE "app"."_fold_other"($1) END $$
  ///
  /// CREATE OR REPLACE FUNCTION "app"."_fold_other"(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT … AS $$
  /// DECLARE t text COLLATE "C" := given;
  /// BEGIN
  ///   IF t !~ '[^\u0001-\u017F]' THEN                    Latin letters only: no decomposition
  ///     IF t ~ '[ßŉ]' THEN t := replace(…); END IF;      one character becomes several
  ///     t := translate(t, 'ABC…ÀÁÂ…', 'abc…aaa…');       one becomes another one
  ///     RETURN t;
  ///   END IF;
  ///   t := normalize(t, NFD);
  ///   …                                                  the same with the table of all characters; marks vanish
  ///   RETURN normalize(t, NFC);
  /// END $$
  /// ```
  ///
  /// The server puts the body of the short one into the calling statement ("inlining"), so a text in ASCII costs no
  /// call. `lower` with the collation "C" changes A to Z only.
  private func create(_ table: TextTables.Table, _ function: StoredTextFunction) -> [String] {
    let other = address.qualified("\(function.rawValue)_other")
    let ascii: String =
      switch function {
      case .foldMarks: "$1"
      case .upper: "upper($1 COLLATE \"C\")"
      default: "lower($1 COLLATE \"C\")"
      }
    return [
      """
      CREATE OR REPLACE FUNCTION \(other)(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      DECLARE t text COLLATE "C" := given;
      BEGIN
        IF t !~ '[^\\u0001-\\u017F]' THEN
          \(table.latin.script)
          RETURN t;
        END IF;
        \(table.isNormalized ? "t := normalize(t, NFD);" : "")
        \(table.all.script)
        RETURN \(table.isNormalized ? "normalize(t, NFC)" : "t");
      END $$
      """,
      """
      CREATE OR REPLACE FUNCTION \(name(function))(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN octet_length($1) = char_length($1) THEN \(ascii) ELSE \(other)($1) END $$
      """,
    ]
  }

  /// A number becomes "0", a character for the number of its digits without zeros at their start, and these digits.
  ///
  /// ```text
  /// Chapter 9      Chapter 0ā9        ā is U+0101: one digit
  /// Chapter 10     Chapter 0Ă10       Ă is U+0102: two digits, so it comes after
  /// Chapter 010    Chapter 0Ă10       equal to 10, as in Foundation's numeric comparison
  /// ```
  private var natural: String {
    """
    CREATE OR REPLACE FUNCTION \(name(.natural))(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT \
    PARALLEL SAFE AS $$
    BEGIN
      IF given !~ '[0-9]' THEN RETURN given; END IF;
      RETURN (SELECT string_agg(CASE WHEN p.part[2] IS NULL THEN p.part[1]
        ELSE '0' || chr(256 + least(length(ltrim(p.part[2], '0')), 50000)) || ltrim(p.part[2], '0') END, ''
        ORDER BY p.place)
        FROM regexp_matches(given, '([^0-9]+)|([0-9]+)', 'g') WITH ORDINALITY AS p (part, place));
    END $$
    """
  }
}

/// What texts become, character by character. Made once, since all stores have the same: some 77,000 characters are
/// tried, at the first store that needs new functions.
struct TextTables: Sendable {
  /// What characters become, as the arguments of `translate` and `replace`.
  struct Mapping: Sendable {
    /// Characters that become one other each.
    private var from = ""
    private var to = ""
    /// Characters that vanish.
    private var gone = ""
    /// Characters that become several.
    private var longer: [(from: String, to: String)] = []

    mutating func add(_ scalar: Unicode.Scalar, _ result: String) {
      let scalars = result.unicodeScalars
      if scalars.elementsEqual([scalar]) { return }
      switch scalars.count {
      case 0: gone.unicodeScalars.append(scalar)
      case 1:
        from.unicodeScalars.append(scalar)
        to += result
      default: longer.append((String(scalar), result))
      }
    }

    /// Statements of PL/pgSQL that change the variable `t`. Later ones do not change the results of earlier ones.
    /// `translate` removes characters that have no counterpart, so those that vanish stand at the end of its list.
    var script: String {
      var script = ""
      if !longer.isEmpty {
        let replaced = longer.reduce("t") { "replace(\($0), \($1.from.quotedText), \($1.to.quotedText))" }
        script += "IF t ~ '[\(longer.map(\.from).joined())]' THEN t := \(replaced); END IF; "
      }
      return script + "t := translate(t, \((from + gone).quotedText), \(to.quotedText));"
    }
  }

  struct Table: Sendable {
    /// For texts of the characters before U+0180.
    let latin: Mapping
    /// For all texts; for folding, in their decomposed form.
    let all: Mapping
    let isNormalized: Bool
  }

  let tables: [StoredTextFunction: Table]

  static let shared = TextTables()

  private init() {
    var tables: [StoredTextFunction: Table] = [:]
    let scalars = Self.scalars()
    for function in StoredTextFunction.allCases {
      let change: (Unicode.Scalar) -> String
      switch function {
      case .natural: continue
      case .upper: change = { $0.properties.uppercaseMapping }
      case .lower: change = { $0.properties.lowercaseMapping }
      case .foldCase, .foldMarks, .fold: change = { StringMatching.folded($0, function.options) }
      }
      let isFolding = !function.options.isEmpty
      var (latin, all) = (Mapping(), Mapping())
      for value in (1..<0x180 as Range<UInt32>) {
        guard let scalar = Unicode.Scalar(value) else { continue }
        latin.add(scalar, isFolding ? StringMatching.folded(String(scalar), function.options) : change(scalar))
      }
      for scalar in isFolding ? scalars.filter(Self.isDecomposed) : scalars { all.add(scalar, change(scalar)) }
      tables[function] = Table(latin: latin, all: all, isNormalized: isFolding)
    }
    self.tables = tables
  }

  /// Whether a character is its own decomposition: folding works on decomposed texts, in which no other occurs.
  private static func isDecomposed(_ scalar: Unicode.Scalar) -> Bool {
    String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.elementsEqual([scalar])
  }

  /// The characters that have another case or are marks. None of them is in the ranges of ideographs, syllables and
  /// private characters that are left out.
  private static func scalars() -> [Unicode.Scalar] {
    let ranges: [Range<UInt32>] = [1..<0x3400, 0xA640..<0xAC00, 0xFB00..<0x1F000]
    return ranges.joined().lazy.compactMap(Unicode.Scalar.init).filter {
      let properties = $0.properties
      return properties.changesWhenUppercased || properties.changesWhenLowercased
        || properties.canonicalCombiningClass != .notReordered
    }
  }
}
