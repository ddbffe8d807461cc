/// How a fetch is done, and what it cost: the statements, their plans, the number of results and the time. An addition
/// to Apple's API.
///
/// ```swift
/// let request = NSFetchRequest<Book>(entityName: "Book")
/// request.predicate = NSPredicate(format: "pages > 300")
/// print(try context.explain(request))
/// ```
///
/// prints, for a SQLite file, something like
///
/// ```text
/// SELECT t0.Z_PK, t0.Z_ENT, t0.Z_OPT, t0.ZPAGES FROM ZBOOK t0 WHERE t0.ZPAGES > ?
///   SCAN t0
/// 12 results in 0.0021 s
/// ```
///
/// How to read a plan of SQLite: SCAN reads every row of the table, SEARCH uses an index or the key, and USE TEMP
/// B-TREE FOR ORDER BY sorts the rows that were found. A SCAN of a large table that returns few rows wants a fetch
/// index on the compared attribute: see `NSFetchIndexDescription`.
///
/// `NSManagedObjectContext.explain(_:)` makes it by executing the fetch once, with the caches as they are.
public struct FetchExplanation: Sendable, CustomStringConvertible {
  /// A statement of the fetch at one store.
  ///
  /// One for each store. Of a fetch in batches it is the statement that finds the objects, without those of the
  /// batches.
  public struct Statement: Sendable {
    /// The place of the store; nil for a store in memory.
    public let storeURL: URL?
    /// The text, with a mark in place of each value.
    ///
    /// Values are passed as parameters and are not part of it, so it may be logged.
    public let sql: String
    /// The lines of the database's plan, inner ones indented by two spaces: of SQLite's `EXPLAIN QUERY PLAN`
    /// (https://www.sqlite.org/eqp.html) or PostgreSQL's `EXPLAIN`.
    public let plan: [String]

    package init(storeURL: URL?, sql: String, plan: [String]) {
      self.storeURL = storeURL
      self.sql = sql
      self.plan = plan
    }
  }

  /// One for each store that holds the entity and evaluates the fetch by SQL. A store in memory, a binary or XML store
  /// and an app's own have none, and neither has a server for a predicate that is tested in memory.
  public let statements: [Statement]
  /// The number of results, with the unsaved changes of the context.
  public let resultCount: Int
  /// The time of the fetch in the context: the statements, the making of objects, prefetching.
  ///
  /// The first run of a process is slower: statements are prepared, and pages of the file are read.
  public let duration: Duration

  /// The statements with their plans, and a line with number and time.
  ///
  /// For a log or a terminal; its form is not meant to be parsed.
  public var description: String {
    let parts = duration.components
    let seconds = Double(parts.seconds) + Double(parts.attoseconds) / 1e18
    let lines = statements.flatMap { [$0.sql] + $0.plan.map { "  " + $0 } }
    let cost = "\(resultCount) \(resultCount == 1 ? "result" : "results") in \(String(format: "%.4f", seconds)) s"
    return (lines + [cost]).joined(separator: "\n")
  }
}
