/// Numbers with their nouns.
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
