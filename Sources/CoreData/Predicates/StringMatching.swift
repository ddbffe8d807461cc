/// The comparison of strings by predicates, in memory and inside SQLite.
///
/// Without options a comparison is binary: by the bytes of UTF-8, which is also the order of code points. `[c]` folds
/// case by Unicode's full mappings ("ß" equals "SS", "Σ" equals "ς"), `[d]` drops combining marks; both treat
/// composed and decomposed characters as equal. No locale is used, so every machine gives the same answer.
///
/// The same functions compare in memory, in SQLite (as `cd_fold`, `cd_begins` and so on) and on the rows of stores in
/// memory. That is why they avoid Foundation's comparisons, which depend on the version of ICU and on a locale: the
/// order of an index in a file must not change with the machine.
///
/// ```text
///             plain     [c]       [d]       [cd]
/// "Éa"        Éa        éa        Ea        ea
/// "STRASSE"   STRASSE   strasse   STRASSE   strasse
/// "Straße"    Straße    strasse   Straße    strasse
/// ```
///
/// Source: https://www.unicode.org/reports/tr21/ (case mappings), https://www.unicode.org/reports/tr15/
/// (normalisation).
package enum StringMatching {
  /// `[n]` and `[l]` have no effect on a comparison: see there.
  package typealias Options = NSComparisonPredicate.Options

  /// Whether the strings have the same bytes. Swift's `==` would call canonically equivalent strings equal.
  static func isIdentical(_ a: String, _ b: String) -> Bool {
    a.utf8.elementsEqual(b.utf8)
  }

  /// The order of the bytes.
  ///
  /// It is SQLite's BINARY collation, which SQL stores use for columns and indexes. A text that is a beginning of the
  /// other one comes first.
  ///
  /// Source: https://www.sqlite.org/datatype3.html, "Collating Sequences".
  static func order(_ a: String, _ b: String) -> ComparisonResult {
    var a = a
    var b = b
    return a.withUTF8 { a in
      b.withUTF8 { b in
        let count = min(a.count, b.count)
        if count > 0, let left = a.baseAddress, let right = b.baseAddress {
          let difference = memcmp(left, right, count)
          if difference != 0 { return difference < 0 ? .orderedAscending : .orderedDescending }
        }
        return a.count == b.count ? .orderedSame : a.count < b.count ? .orderedAscending : .orderedDescending
      }
    }
  }

  /// Whether `text` begins with `prefix`. No string begins with the empty string, as in Apple's predicates.
  static func begins(_ text: String, with prefix: String) -> Bool {
    !prefix.isEmpty && text.utf8.starts(with: prefix.utf8)
  }

  /// Whether `text` ends with `suffix`. No string ends with the empty string.
  static func ends(_ text: String, with suffix: String) -> Bool {
    !suffix.isEmpty && text.utf8.reversed().starts(with: suffix.utf8.reversed())
  }

  /// Whether `text` contains `part`. No string contains the empty string.
  ///
  /// `memchr` finds the candidates for the first byte, `memcmp` decides. A match in the middle of a character is not
  /// possible, since UTF-8 is self-synchronising.
  static func contains(_ text: String, _ part: String) -> Bool {
    var text = text
    var part = part
    return text.withUTF8 { text in
      part.withUTF8 { part in
        guard let needle = part.baseAddress, !part.isEmpty else { return false }
        guard let haystack = text.baseAddress, text.count >= part.count else { return false }
        var start = 0
        let last = text.count - part.count
        while start <= last {
          guard let candidate = memchr(haystack + start, Int32(needle.pointee), last - start + 1) else { return false }
          start = UnsafeRawPointer(haystack).distance(to: candidate)
          if memcmp(candidate, needle, part.count) == 0 { return true }
          start += 1
        }
        return false
      }
    }
  }

  /// The form that two strings share if they are equal under `options`. Compare the forms with the functions above.
  ///
  /// Decomposed first, so that marks are characters of their own and can be dropped, and composed at the end, so that
  /// equal texts have equal bytes. ASCII needs neither; most texts take that path.
  ///
  /// Folding a text twice gives the same as once. Constants are folded once for each predicate, and SQL functions are
  /// told so by a bit (`SQLFunctions.isFolded`).
  package static func folded(_ text: String, _ options: Options) -> String {
    let ignoresCase = options.contains(.caseInsensitive)
    let ignoresMarks = options.contains(.diacriticInsensitive)
    guard ignoresCase || ignoresMarks else { return text }
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return ignoresCase ? asciiLowercased(text) : text }
    var result = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
      if ignoresMarks, scalar.properties.canonicalCombiningClass != .notReordered { continue }
      if ignoresCase {
        appendFolded(scalar, to: &result)
      } else {
        result.append(scalar)
      }
    }
    return String(result).precomposedStringWithCanonicalMapping
  }

  /// What one character of a decomposed text becomes in the folded form, before that is composed again.
  ///
  /// PostgreSQL's stored functions are made from tables that this fills, so that the server folds as memory does.
  package static func folded(_ scalar: Unicode.Scalar, _ options: Options) -> String {
    if options.contains(.diacriticInsensitive), scalar.properties.canonicalCombiningClass != .notReordered { return "" }
    guard options.contains(.caseInsensitive) else { return String(scalar) }
    var result = String.UnicodeScalarView()
    appendFolded(scalar, to: &result)
    return String(result)
  }

  /// Lower case by setting a bit; the text itself if it has no capital letters.
  private static func asciiLowercased(_ text: String) -> String {
    if !text.utf8.contains(where: { $0 >= 0x41 && $0 <= 0x5A }) { return text }
    return String(unsafeUninitializedCapacity: text.utf8.count) { buffer in
      var count = 0
      for byte in text.utf8 {
        buffer[count] = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
        count += 1
      }
      return count
    }
  }

  /// Folds by mapping to upper case, then to lower case: that gives σ, ς and Σ, or ß and SS, one form. The dotless
  /// ı stays, since its upper case is the I of another letter (Unicode's CaseFolding.txt keeps it too).
  private static func appendFolded(_ scalar: Unicode.Scalar, to result: inout String.UnicodeScalarView) {
    if scalar.isASCII || scalar.value == 0x131 {
      result.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
      return
    }
    for upper in scalar.properties.uppercaseMapping.unicodeScalars {
      result.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
    }
  }
}
