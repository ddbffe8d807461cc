/// Where databases differ in what a predicate needs. One value per database; SQLite's is the only one yet.
struct SQLDialect: Sendable {
  /// Equality for which NULL equals NULL.
  let nullSafeEqual: String
  /// Its opposite.
  let nullSafeDifferent: String
  /// How many parameters one list may have before `list` takes over.
  let maximumListLength: Int
  /// A subquery with the members of a JSON array, which is bound as one parameter.
  let membersOfArray: String

  /// Source: https://www.sqlite.org/lang_expr.html (IS), https://www.sqlite.org/json1.html (json_each),
  /// https://www.sqlite.org/limits.html (32,766 parameters).
  static let sqlite = SQLDialect(
    nullSafeEqual: "IS", nullSafeDifferent: "IS NOT", maximumListLength: 500,
    membersOfArray: "SELECT value FROM json_each(?)")
}
