/// Numbers with their nouns.
///
/// ```swift
/// import PoolClient
///
/// print(Plural.text(1, "entry"), Plural.text(2, "entry"), Plural.text(0, "process"))  // 1 entry 2 entries 0 processes
/// ```
///
/// It knows the regular plurals of English only.
public enum Plural {
  /// `1 job`, `2 jobs`, `3 processes`.
  public static func text(_ count: Int, _ noun: String) -> String { "\(count) \(form(noun, for: count))" }

  /// The noun as it stands behind the number.
  public static func form(_ noun: String, for count: Int) -> String {
    if count == 1 { return noun }
    if let last = noun.last, last == "y", let before = noun.dropLast().last, !"aeiou".contains(before) {
      return noun.dropLast() + "ies"
    }
    return noun + (["s", "x", "ch", "sh"].contains(where: noun.hasSuffix) ? "es" : "s")
  }
}
