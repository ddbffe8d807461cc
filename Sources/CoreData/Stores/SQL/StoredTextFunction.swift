/// The functions of texts that a server's store has in its schema. Raw values are their names.
///
/// PostgreSQL's store makes them in its schema when the role has the right to. They give what `StringMatching` gives in
/// Swift, so that a predicate finds the same rows in every store.
package enum StoredTextFunction: String, CaseIterable {
  /// `StringMatching.folded` with its options.
  case foldCase = "_fold_case"
  case foldMarks = "_fold_marks"
  case fold = "_fold"
  case upper = "_upper"
  case lower = "_lower"
  /// A text that is ordered as `localizedStandardCompare:` orders the folded one: numbers by their values.
  case natural = "_natural"

  /// What folding ignores; nothing for the other functions.
  package var options: StringMatching.Options {
    switch self {
    case .foldCase: [.caseInsensitive]
    case .foldMarks: [.diacriticInsensitive]
    case .fold: [.caseInsensitive, .diacriticInsensitive]
    case .upper, .lower, .natural: []
    }
  }

  /// The function that folds as the options say; nil if these change nothing.
  init?(folding options: StringMatching.Options) {
    let foldingOptions = options.intersection([.caseInsensitive, .diacriticInsensitive])
    guard !foldingOptions.isEmpty, let function = Self.allCases.first(where: { $0.options == foldingOptions }) else {
      return nil
    }
    self = function
  }
}
