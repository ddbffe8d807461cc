/// A connection that reports slow statements with the server's plan for them: see `SlowStatements`.
///
/// The plan comes from `EXPLAIN` with the same parameters, which plans a statement and does not run it
/// (https://www.postgresql.org/docs/15/sql-explain.html), so nothing is written a second time. It is asked for on this
/// connection, which sees the same tables and waits for no lock of its own transaction:
///
/// ```text
/// in a transaction         SAVEPOINT, EXPLAIN, ROLLBACK TO
/// outside of one           BEGIN READ ONLY, EXPLAIN, ROLLBACK
/// in one that has failed   nothing before its end: the server refuses all statements until then
/// ```
///
/// What a report says of a fetch that took 0.8 s, with a limit of 0.5:
///
/// ```text
/// sql       SELECT _key, _entity, title FROM "app"."Book" WHERE pages > $1
/// seconds   0.8
/// plan      Seq Scan on "Book"  (cost=0.00..25.00 rows=400 width=44)
///             Filter: (pages > ?)
/// ```
///
/// The time is that of the round trip: sending, waiting for locks, the server's work and receiving all rows. A slow
/// network counts, too. Sessions that only wait for locks of pools are not measured, since they wait on purpose.
///
/// Without a limit no such object exists, and a statement costs what it costs without it.
final class MeasuredConnection: ServerConnection {
  typealias Statement = (sql: String, parameters: ServerParameters)

  private let connection: any ServerConnection
  private let limit: Double
  private let report: (SlowStatement) -> Void
  private let wantsPlan: (_ sql: String, _ seconds: Double) -> Bool
  /// The last slow statement of a transaction that has failed. It is reported with the first statement after the
  /// transaction, or when the connection is closed.
  private var failed: (statements: [Statement], seconds: Double)?

  /// The statements of one round trip that are named and explained.
  private static let mostStatements = 5

  /// Opens a connection, which is measured if the program reports slow statements.
  static func open(_ connectionString: String) throws -> any ServerConnection {
    let connection = try ServerDriver.open(connectionString)
    let limit = SlowStatements.limit
    guard limit < .infinity else { return connection }
    return MeasuredConnection(
      connection, limit: limit, wantsPlan: SlowStatements.wantsPlan, report: SlowStatements.report)
  }

  /// - Parameters:
  ///   - limit: the seconds from which a statement is slow.
  ///   - wantsPlan: whether a slow statement is explained.
  init(
    _ connection: any ServerConnection, limit: Double,
    wantsPlan: @escaping (_ sql: String, _ seconds: Double) -> Bool, report: @escaping (SlowStatement) -> Void
  ) {
    self.connection = connection
    self.limit = limit
    self.wantsPlan = wantsPlan
    self.report = report
  }

  // MARK: Measuring

  /// Runs the body, which runs the statements, and reports them if that takes long.
  private func measuring<T>(_ statements: @autoclosure () -> [Statement], _ body: () throws -> T) rethrows -> T {
    let start = ContinuousClock.now
    do {
      let result = try body()
      ended(statements, start, hasFailed: false)
      return result
    } catch {
      ended(statements, start, hasFailed: true)
      throw error
    }
  }

  /// Decides what happens with statements that have ended.
  ///
  /// ```text
  /// shorter than the limit                        nothing
  /// longer                                        reported, with a plan where one is wanted
  /// longer, failed, and in a transaction          kept until the transaction has ended
  /// longer, failed, and outside of a transaction  reported: the connection takes statements again
  /// ```
  private func ended(_ statements: () -> [Statement], _ start: ContinuousClock.Instant, hasFailed: Bool) {
    let seconds = start.duration(to: .now) / .seconds(1)
    if let failed, !connection.isInTransaction {
      self.failed = nil
      tell(failed.statements, failed.seconds)
    }
    guard seconds >= limit else { return }
    if hasFailed, connection.isInTransaction {
      failed = (statements(), seconds)
    } else {
      tell(statements(), seconds)
    }
  }

  /// Reports statements of one round trip as one: the time of each is not known.
  private func tell(_ statements: [Statement], _ seconds: Double) {
    // Many rows are written by one text in one round trip.
    var different: [Statement] = []
    for statement in statements.prefix(100) where different.last?.sql != statement.sql { different.append(statement) }
    let named = different.prefix(Self.mostStatements)
    let sql = named.map(\.sql).joined(separator: "; ")
    let plan = wantsPlan(sql, seconds) ? plan(of: named.filter { Self.hasPlan($0.sql) }) : []
    report(SlowStatement(sql: sql, seconds: seconds, plan: plan))
  }

  // MARK: Plans

  /// What EXPLAIN accepts. It refuses COPY, DDL, and the statements of transactions.
  private static let plannedWords: Set<Substring> = ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"]

  private static func hasPlan(_ sql: String) -> Bool {
    plannedWords.contains(sql.prefix { $0.isLetter || $0 == "_" })
  }

  /// Milliseconds that EXPLAIN waits for another session's lock on a table. Planning needs the table's lightest lock,
  /// which only changes of the schema exclude; a report may not wait for them.
  private static let lockTimeout = 100

  /// The plans without values; empty where the server gives none.
  private func plan(of statements: [Statement]) -> [String] {
    guard !statements.isEmpty, !connection.isLost else { return [] }
    let isInTransaction = connection.isInTransaction
    let (begin, end) =
      isInTransaction
      ? ("SAVEPOINT coredata_plan", "ROLLBACK TO coredata_plan; RELEASE coredata_plan")
      : ("BEGIN READ ONLY", "ROLLBACK")
    var lines: [String] = []
    do {
      try connection.run("\(begin); SET LOCAL lock_timeout = \(Self.lockTimeout)")
      for statement in statements {
        let result = try connection.execute("EXPLAIN " + statement.sql, statement.parameters)
        lines += (0..<result.rowCount).map { PlanLine.withoutValues(result.text($0, 0) ?? "") }
      }
    } catch {
      // A plan is a help: the statement is reported without it. A lost connection is noticed at its next use.
    }
    // If it fails, the connection is lost, and the transaction with it.
    try? connection.run(end)
    return lines
  }

  // MARK: What is measured

  @discardableResult
  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult {
    try measuring([(sql, parameters)]) { try connection.execute(sql, parameters) }
  }

  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult] {
    try measuring(statements) { try connection.pipeline(statements) }
  }

  func run(_ script: String) throws {
    // Of a script with several statements there is no plan: the server prepares one at a time.
    try measuring([(script, ServerParameters())]) { try connection.run(script) }
  }

  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws {
    try measuring([(sql, parameters)]) { try connection.stream(sql, parameters, isShort: isShort, body) }
  }

  func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try measuring([(select, ServerParameters())]) { try connection.copyRows(select, body) }
  }

  @discardableResult
  func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int {
    try measuring([(sql, ServerParameters())]) { try connection.copy(sql, next) }
  }

  // MARK: What is not

  func cancel() { connection.cancel() }
  func notifications() throws -> [ServerNotification] { try connection.notifications() }
  var descriptor: Int32 { connection.descriptor }
  var isInTransaction: Bool { connection.isInTransaction }
  var isLost: Bool { connection.isLost }
  var version: Int { connection.version }

  /// Reports what is kept, without a plan: the connection is closed by then.
  func close() {
    connection.close()
    if let failed { tell(failed.statements, failed.seconds) }
    failed = nil
  }
}

/// Lines of PostgreSQL's `EXPLAIN`.
///
/// With parameters, the server writes their values into the conditions of the plan. A report goes to logs and pages,
/// which show no values of objects.
enum PlanLine {
  /// The line with a question mark in place of each constant. A line with the costs of a step has none.
  ///
  /// ```text
  /// Filter: ((title)::text = 'Emma'::text)        Filter: ((title)::text = ?::text)
  /// Index Cond: (pages > 250)                     Index Cond: (pages > ?)
  /// Filter: ("Book2".d_count = $1)                as it is: names and numbers of parameters are no values
  /// ->  Seq Scan on "Book"  (cost=0.00..25.00 …)  as it is
  /// ```
  static func withoutValues(_ line: String) -> String {
    if line.contains("(cost=") { return line }
    var result = ""
    var rest = line[...]
    while let character = rest.first {
      switch character {
      case "'":
        result += "?"
        rest = afterQuoted(rest)
      case "\"":
        let end = afterQuoted(rest)
        result += rest[..<end.startIndex]
        rest = end
      case _ where character.isNumber:
        result += "?"
        rest = rest.drop { $0.isNumber || $0 == "." }
      case _ where character.isLetter || character == "_" || character == "$":
        // A word or the number of a parameter, with its digits.
        let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
        result += word
        rest = rest.dropFirst(word.count)
      default:
        result.append(character)
        rest = rest.dropFirst()
      }
    }
    return result
  }

  /// What follows a quoted text, in which two quotation marks stand for one. All of a line whose text has no end.
  private static func afterQuoted(_ text: Substring) -> Substring {
    guard let quote = text.first else { return text }
    var rest = text.dropFirst()
    while let end = rest.firstIndex(of: quote) {
      rest = rest[rest.index(after: end)...]
      if rest.first != quote { return rest }
      rest = rest.dropFirst()
    }
    return rest[rest.endIndex...]
  }
}
