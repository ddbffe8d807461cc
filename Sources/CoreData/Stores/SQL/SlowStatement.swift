internal import Glibc
internal import Synchronization

/// A statement that took long, with the database's plan for it.
package struct SlowStatement: Sendable, Equatable {
  /// The text on one line, with a mark in place of each value; a long one is cut.
  package let sql: String
  /// How long it ran. The time of a fetch contains that of the program between two rows.
  package let seconds: Double
  /// The lines of the plan, inner ones indented; empty where the database has given none, or was not asked:
  /// `PlannedStatements`.
  package let plan: [String]

  /// The most characters of a text, and of a line of a plan, and the most lines of a plan: a report is bounded.
  package static let longestText = 2000
  package static let longestPlanLine = 300
  package static let mostPlanLines = 20
  /// The most seconds that a printed line may tell, some thirty years. Every program may print such lines, and sums of
  /// larger numbers become infinite, which JSON cannot say.
  private static let longestRun = 1e9

  package init(sql: String, seconds: Double, plan: [String]) {
    self.sql = Self.line(sql, atMost: Self.longestText)
    self.seconds = seconds
    self.plan = plan.prefix(Self.mostPlanLines).map { Self.line($0, atMost: Self.longestPlanLine) }
  }

  private static func line(_ text: String, atMost limit: Int) -> String {
    // Most texts are so: each character of a Swift string costs more than looking at its bytes.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20..<0x80).contains($0) }) { return text }
    // Only so much is looked at: the text of a script may be long.
    let start = text.prefix(limit + 1)
    let line = start.contains(where: \.isNewline) ? String(start.map { $0.isNewline ? " " : $0 }) : String(start)
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }
}

// MARK: - Its printed form

extension SlowStatement {
  private static let statementStart = "CoreData: slow: "
  private static let planStart = "CoreData: plan: "

  /// What a program prints:
  ///
  ///     CoreData: slow: 0.2512s: SELECT t0.Z_PK FROM ZPERSON t0 WHERE t0.ZNAME = ?
  ///     CoreData: plan: SCAN t0
  package var lines: [String] {
    ["\(Self.statementStart)\(String(format: "%.4f", seconds))s: \(sql)"] + plan.map { Self.planStart + $0 }
  }

  /// What a printed line says: a statement, still without its plan, or a line of the plan of the statement before it.
  package enum Line: Equatable {
    case statement(SlowStatement)
    case plan(String)

    /// Nil for a line that is neither.
    package init?(_ line: String) {
      if line.hasPrefix(SlowStatement.planStart) {
        self = .plan(String(line.dropFirst(SlowStatement.planStart.count).prefix(SlowStatement.longestPlanLine)))
        return
      }
      guard line.hasPrefix(SlowStatement.statementStart) else { return nil }
      let words = line.dropFirst(SlowStatement.statementStart.count).split(separator: "s: ", maxSplits: 1)
      guard words.count == 2, let seconds = Double(words[0]), (0...SlowStatement.longestRun).contains(seconds) else {
        return nil
      }
      self = .statement(SlowStatement(sql: String(words[1]), seconds: seconds, plan: []))
    }
  }
}

// MARK: - Which get a plan

/// Decides for which slow statements the database is asked for its plan.
///
/// A plan costs more than a quick statement: another connection for SQLite, three round trips at a server. So one text
/// gets a plan with its first slow run, and another one with a run of more than twice the time, which may be that of
/// another plan:
///
/// ```text
/// SELECT …    0.5 s    plan
/// SELECT …    0.6 s
/// SELECT …    1.1 s    plan
/// UPDATE …    0.5 s    plan
/// ```
///
/// It remembers a bounded number of texts. A new one takes the place of the quickest, and gets no plan if it is quicker
/// than all of them.
package struct PlannedStatements: Sendable {
  /// Texts that are remembered, more than a pool keeps for its status.
  package static let remembered = 200

  /// The seconds of the run whose plan was asked for last, by the hash of the text, which may be long.
  private var seconds: [Int: Double] = [:]

  package init() {}

  /// Whether to ask for the plan of a run; if so, it is noted.
  package mutating func take(_ sql: String, _ duration: Double) -> Bool {
    let text = sql.hashValue
    if let planned = seconds[text] {
      guard duration > 2 * planned else { return false }
    } else if seconds.count >= Self.remembered {
      guard let quickest = seconds.min(by: { $0.value < $1.value }), quickest.value < duration else { return false }
      seconds[quickest.key] = nil
    }
    seconds[text] = duration
    return true
  }
}

// MARK: - Who hears of it

/// Who wants to hear of slow statements, and from how many seconds on: people, who set
/// `com.apple.CoreData.SlowStatements` and read standard error, and the pool for its status.
package enum SlowStatements {
  private struct Observer {
    let limit: Double
    let report: @Sendable (SlowStatement) -> Void
  }

  /// The seconds from which a statement is printed; infinite if none is.
  private static let printLimit = LaunchArgument.value("SlowStatements").flatMap(Double.init) ?? .infinity
  private static let observer = Mutex<Observer?>(nil)
  private static let planned = Mutex(PlannedStatements())
  private static let lowestLimit = Atomic<UInt64>(printLimit.bitPattern)

  /// The seconds from which a statement is reported; infinite if none is. Connections that are opened
  /// while it is infinite measure nothing.
  package static var limit: Double { Double(bitPattern: lowestLimit.load(ordering: .relaxed)) }

  /// Calls the closure for each statement of this process that takes at least so long, on the thread that ran it. Only
  /// connections that are opened later are measured. A second call replaces the first one.
  package static func observe(from seconds: Double, _ report: @escaping @Sendable (SlowStatement) -> Void) {
    observer.withLock { $0 = Observer(limit: seconds, report: report) }
    lowestLimit.store(min(printLimit, seconds).bitPattern, ordering: .relaxed)
  }

  /// Whether the database should be asked for the plan of a statement that took so long.
  package static func wantsPlan(of sql: String, _ seconds: Double) -> Bool {
    planned.withLock { $0.take(sql, seconds) }
  }

  /// Tells those who want to hear of it.
  package static func report(_ statement: SlowStatement) {
    if statement.seconds >= printLimit {
      // One write for all lines, so that lines of several threads do not mix.
      let bytes = Array((statement.lines.joined(separator: "\n") + "\n").utf8)
      _ = write(STDERR_FILENO, bytes, bytes.count)
    }
    guard let observer = observer.withLock(\.self), statement.seconds >= observer.limit else { return }
    observer.report(statement)
  }
}
