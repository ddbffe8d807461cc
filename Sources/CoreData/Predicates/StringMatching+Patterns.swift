internal import Synchronization

extension StringMatching {
  /// Whether all of `text` matches a LIKE pattern: `*` stands for any characters, `?` for one, a backslash makes the
  /// next one literal.
  ///
  /// Fold both sides first if the options ask for it. The worst case takes time proportional to text × pattern.
  ///
  /// A `LikePattern` that is kept saves parsing it for each text.
  static func isLike(_ text: String, pattern: String) -> Bool {
    LikePattern(pattern).matches(text)
  }

  /// Whether all of `text` matches a regular expression in ICU's syntax. An invalid pattern matches nothing.
  ///
  /// For patterns that are not constant: two columns compared by MATCHES. Compiled expressions are kept in a small
  /// cache.
  static func matches(_ text: String, pattern: String, _ options: Options) -> Bool {
    matches(text, pattern: pattern, options, isInterrupted: { false }) ?? false
  }

  /// The same; nil if `isInterrupted`, which is asked every millisecond or so, ended it. For a pattern such as `(a+)+$`
  /// the regular expression tries ways for seconds, and then gives up: the text does not match.
  ///
  /// SQLite cannot interrupt a function while it runs, so a cancelled fetch sets a flag that this asks for.
  /// NSRegularExpression reports its progress now and then, and only then can it be stopped.
  ///
  /// - Parameter isInterrupted: whether to give up; called on this thread.
  /// - Returns: whether the text matches; nil if it was interrupted before that was known.
  static func matches(
    _ text: String, pattern: String, _ options: Options, isInterrupted: () -> Bool
  ) -> Bool? {
    guard let expression = RegularExpressionCache.expression(pattern, options) else { return false }
    let text = folded(text, options.intersection([.diacriticInsensitive]))
    var holds: Bool? = false
    // The block does not outlive the call. It is called for a match, and now and then while one is looked for.
    withoutActuallyEscaping(isInterrupted) { isInterrupted in
      expression.enumerateMatches(
        in: text, options: .reportProgress, range: NSRange(location: 0, length: text.utf16.count)
      ) { match, _, stop in
        if match != nil {
          holds = true
        } else if isInterrupted() {
          holds = nil
        } else {
          return
        }
        stop.pointee = true
      }
    }
    return holds
  }

  /// - Parameter expression: one that `regularExpression(_:_:)` made with the same options.
  static func matches(_ text: String, _ expression: NSRegularExpression, _ options: Options) -> Bool {
    let text = folded(text, options.intersection([.diacriticInsensitive]))
    return expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
  }

  /// The compiled expression, which matches whole strings only; nil if the pattern is invalid.
  ///
  /// Case is left to ICU, since folding the pattern would change `\S` to `\s`. Accents are removed from pattern and
  /// text alike, as ICU has no option for them. `\A(?:…)\z` makes alternatives match the whole text: `a|b` would
  /// otherwise mean `\Aa` or `b\z`.
  ///
  /// Source: https://unicode-org.github.io/icu/userguide/strings/regexp.html
  static func regularExpression(_ pattern: String, _ options: Options) -> NSRegularExpression? {
    let pattern = folded(pattern, options.intersection([.diacriticInsensitive]))
    let ignoresCase = options.contains(.caseInsensitive)
    // The pattern is tried alone first: "a)(b" would become valid inside the group.
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(
      pattern: "\\A(?:\(pattern))\\z", options: ignoresCase ? [.caseInsensitive] : [])
  }
}

/// A LIKE pattern, parsed once.
///
/// ```text
/// "E*a"     [literal E, many, literal a]
/// "\*?"     [literal *, one]
/// "Em\"     [literal E, literal m, literal \]      a backslash at the end stands for itself
/// ```
///
/// SQL's own LIKE cannot take its place: it has other signs (`%`, `_`), and in SQLite it ignores the case of ASCII.
///
/// Source: https://www.sqlite.org/lang_expr.html, "The LIKE, GLOB, REGEXP, MATCH, and extract operators".
struct LikePattern {
  /// One element of a pattern: a character, `?`, or `*`. They stand for Unicode scalars and not for characters, so `?`
  /// matches one of the two scalars of a decomposed "é".
  enum Step {
    case literal(Unicode.Scalar)
    case one
    case many
  }

  let steps: [Step]

  init(_ pattern: String) {
    var steps: [Step] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        steps.append(.literal(scalar))
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "*" {
        steps.append(.many)
      } else {
        steps.append(scalar == "?" ? .one : .literal(scalar))
      }
    }
    if isEscaped { steps.append(.literal("\\")) }
    self.steps = steps
  }

  /// Walks text and pattern together, and returns to the last `*` when a literal fails. Only the last one matters: an
  /// earlier star could not find a match that the last one cannot. So there is no recursion and no exponential time;
  /// the worst case is text × pattern, as for `a*a*a*b`.
  func matches(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    var step = 0
    var position = 0
    // The place to continue when a literal fails: after the last `*`, which takes one more scalar.
    var retry: (step: Int, position: Int)?
    while position < scalars.count {
      if step < steps.count {
        switch steps[step] {
        case .many:
          retry = (step + 1, position)
          step += 1
          continue
        case .one:
          step += 1
          position += 1
          continue
        case .literal(let scalar) where scalar == scalars[position]:
          step += 1
          position += 1
          continue
        case .literal: break
        }
      }
      guard let (after, start) = retry else { return false }
      retry = (after, start + 1)
      step = after
      position = start + 1
    }
    return steps[step...].allSatisfy { if case .many = $0 { true } else { false } }
  }
}

/// Compiled regular expressions of patterns that differ from row to row. Constant patterns are compiled by `Comparison`
/// instead and do not come here, except in SQLite's `cd_matches`, which gets the pattern with each row.
///
/// Safe on any thread. Patterns that are not valid are kept too, so that they are tried once.
private enum RegularExpressionCache {
  private struct Key: Hashable {
    let pattern: String
    let options: NSComparisonPredicate.Options
  }

  /// The cache is emptied when it is full: a query has either few patterns or one for each row.
  private static let capacity = 64
  private static let expressions = Mutex<[Key: NSRegularExpression?]>([:])

  static func expression(_ pattern: String, _ options: NSComparisonPredicate.Options) -> NSRegularExpression? {
    let key = Key(pattern: pattern, options: options)
    return expressions.withLock { cached in
      if let expression = cached[key] { return expression }
      let made = StringMatching.regularExpression(pattern, options)
      if cached.count >= capacity { cached.removeAll() }
      cached[key] = .some(made)
      return made
    }
  }
}
