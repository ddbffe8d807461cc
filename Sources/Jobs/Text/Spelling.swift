/// Finds the word that was probably meant, for an unknown key, option, command or name.
public enum Spelling {
  /// The candidate nearest to `word`, or nil when no candidate is near enough.
  ///
  /// ```swift
  /// print(Spelling.nearest(to: "imprt", among: ["import", "export"]) ?? "none")  // import
  /// print(Spelling.nearest(to: "xyz", among: ["import", "export"]) ?? "none")  // none
  /// ```
  ///
  /// Near enough is at most one edit (a letter too many, missing, wrong, or two swapped) for each three letters of the
  /// word, and at least one. A candidate that begins with the word is near, too. Case is ignored. Nothing is near to a
  /// word of more than 200 bytes, which is unlikely to be mistyped. Of two candidates that are equally near the first
  /// one is taken.
  ///
  /// - Complexity: for each candidate of a similar length the product of both lengths.
  public static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    guard word.utf8.count <= longestWord else { return nil }
    let wordBytes = Array(word.lowercased().utf8)
    let limit = max(1, wordBytes.count / 3)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let bytes = Array(candidate.lowercased().utf8)
      // Each byte by which one of them is longer is an edit.
      var distance = abs(bytes.count - wordBytes.count)
      if distance <= limit { distance = editDistance(wordBytes, bytes) }
      if distance > limit, wordBytes.count >= 2, bytes.starts(with: wordBytes) { distance = limit }
      if distance <= limit, distance < (best?.distance ?? .max) { best = (candidate, distance) }
    }
    return best?.candidate
  }

  /// The end of a sentence that says that a word is unknown: "; did you mean NAME?", or else what is known.
  ///
  /// ```swift
  /// print("there is no kind imprt" + Spelling.hint(to: "imprt", among: ["import"], .quotes))
  /// // there is no kind imprt; did you mean "import"?
  /// ```
  ///
  /// - Parameters:
  ///   - mark: what stands around the name.
  ///   - otherwise: what to say when no candidate is near; nothing without it.
  public static func hint(
    to word: String, among candidates: some Sequence<String>, _ mark: Mark = .none, otherwise: String? = nil
  ) -> String {
    let hint = hint(nearest(to: word, among: candidates), mark)
    return hint.isEmpty ? otherwise.map { "; " + $0 } ?? "" : hint
  }

  /// The same for a name that is known to be the nearest; empty for nil.
  public static func hint(_ nearest: String?, _ mark: Mark = .none) -> String {
    nearest.map { "; did you mean \(mark.prefix)\($0)\(mark.suffix)?" } ?? ""
  }

  /// How a name is set apart in a sentence.
  public enum Mark: Sendable {
    case none, quotes, option

    fileprivate var prefix: String {
      switch self {
      case .none: ""
      case .quotes: "\""
      case .option: "--"
      }
    }

    fileprivate var suffix: String { self == .quotes ? "\"" : "" }
  }

  private static let longestWord = 200

  /// How many single edits lead from one word to the other; swapping two neighbours counts as one.
  ///
  /// It is the "optimal string alignment" distance: three rows of the table of all pairs of beginnings are kept, since
  /// a swap looks two rows back.
  static func editDistance(_ from: [UInt8], _ to: [UInt8]) -> Int {
    if from.isEmpty || to.isEmpty { return max(from.count, to.count) }
    var beforePrevious = [Int](repeating: 0, count: to.count + 1)
    var previous = Array(0...to.count)
    for row in 1...from.count {
      var current = [row] + [Int](repeating: 0, count: to.count)
      for column in 1...to.count {
        let same = from[row - 1] == to[column - 1]
        var cost = min(previous[column - 1] + (same ? 0 : 1), previous[column] + 1, current[column - 1] + 1)
        if row > 1, column > 1, from[row - 1] == to[column - 2], from[row - 2] == to[column - 1] {
          cost = min(cost, beforePrevious[column - 2] + 1)
        }
        current[column] = cost
      }
      (beforePrevious, previous) = (previous, current)
    }
    return previous[to.count]
  }
}
