/// The differences between databases that predicates meet. One value for each database; so far only SQLite.
struct SQLDialect: Sendable {
  /// Equality for which NULL equals NULL.
  let nullSafeEqual: String
  /// The opposite.
  let nullSafeDifferent: String
  /// The number of parameters in one list from which `list` is used instead.
  let maximumListLength: Int
  /// A subquery with the members of a JSON array, which is bound as one parameter.
  let membersOfArray: String

  /// Source: https://www.sqlite.org/lang_expr.html (IS), https://www.sqlite.org/json1.html (json_each),
  /// https://www.sqlite.org/limits.html (32,766 parameters).
  static let sqlite = SQLDialect(
    nullSafeEqual: "IS", nullSafeDifferent: "IS NOT", maximumListLength: 500,
    membersOfArray: "SELECT value FROM json_each(?)")
}
