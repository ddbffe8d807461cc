internal import Glibc
internal import Synchronization

/// A statement that took long, with the database's plan for it.
package struct SlowStatement: Sendable, Equatable {
  /// The text on one line, with a mark in place of each value; a long one is cut.
  package let sql: String
  /// How long it ran. The time of a fetch contains that of the program between two rows.
  package let seconds: Double
  /// The lines of the plan, inner ones indented; empty where the database has given none.
  package let plan: [String]

  /// The most characters of a text, and of a line of a plan, and the most lines of a plan: a report is bounded.
  package static let longestText = 2000
  package static let longestPlanLine = 300
  package static let mostPlanLines = 20
  /// The most seconds that a printed line may tell, some thirty years. Anybody may print such lines, and sums of larger
  /// numbers become infinite, which JSON cannot say.
  private static let longestRun = 1e9

  package init(sql: String, seconds: Double, plan: [String]) {
    self.sql = Self.line(sql, atMost: Self.longestText)
    self.seconds = seconds
    self.plan = plan.prefix(Self.mostPlanLines).map { Self.line($0, atMost: Self.longestPlanLine) }
  }

  private static func line(_ text: String, atMost limit: Int) -> String {
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
