extension PoolStatus {
  /// The SQL statements that have taken long since the pool was started.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let slow = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status?.slowStatements
  /// for statement in slow?.statements.prefix(3) ?? [] {
  ///   print(statement.longest, statement.kind ?? "the pool", statement.sql)
  ///   print(statement.plan.joined(separator: "\n"))
  /// }
  /// ```
  ///
  /// `count` counts all; `statements` has the 20 that took longest. Workers made with `WorkerKit` report theirs, and so
  /// can workers in other languages: see PROTOCOL.md.
  public struct SlowStatements: Codable, Equatable, Sendable {
    /// The seconds from which a statement is slow.
    public var limit: Double
    /// How many statements were slow.
    public var count: Int
    /// The slowest ones, the one that took longest first.
    public var statements: [SlowStatement]

    package init(limit: Double, count: Int, statements: [SlowStatement]) {
      self.limit = limit
      self.count = count
      self.statements = statements
    }
  }

  /// The slow runs of one SQL text in jobs of one kind.
  public struct SlowStatement: Codable, Equatable, Sendable {
    /// The text, with a placeholder for each value; the first 2,000 characters.
    public var sql: String
    /// The kind of the jobs that ran it; nil outside of jobs: in the pool itself, or in a worker that begins.
    public var kind: String?
    /// How often it was slow.
    public var count: Int
    /// The longest time in seconds.
    public var longest: Double
    /// The time of all slow runs in seconds.
    public var total: Double
    /// The lines of the database's plan, inner ones indented; empty where the database gave none. A process asks for it
    /// at the first slow run of a text, and at one of more than twice the time.
    public var plan: [String]

    package init(sql: String, kind: String?, count: Int, longest: Double, total: Double, plan: [String]) {
      self.sql = sql
      self.kind = kind
      self.count = count
      self.longest = longest
      self.total = total
      self.plan = plan
    }
  }
}
