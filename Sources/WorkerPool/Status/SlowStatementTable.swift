import CoreData
import PoolClient
import Synchronization

/// The slow statements of the pool and its workers since the start, for a status.
///
/// The pool's own come from the threads of its store. Those of workers come with their standard error, in the lines
/// that CoreData prints (`SlowStatement.lines`): no text of a statement crosses the workers' sockets.
///
/// It keeps a bounded number of texts: a new one takes the place of the one whose longest time is the shortest.
final class SlowStatementTable: Sendable {
  /// Who runs a text: the same statement may be slow in jobs of several kinds.
  fileprivate struct Key: Hashable {
    let sql: String
    /// Nil outside of jobs.
    let kind: String?
  }

  fileprivate struct Entry {
    var count = 0
    var longest = 0.0
    var total = 0.0
    /// The last plan that came with the longest run of its time. Most runs come without one: `PlannedStatements`.
    var plan: [String] = []
  }

  fileprivate struct State {
    var count = 0
    var entries: [Key: Entry] = [:]
    /// The statement whose plan the next lines of a worker belong to, and whether some of them have come.
    var begun: [WorkerID: (key: Key, hasPlan: Bool)] = [:]
  }

  /// Texts that are kept.
  static let kept = 20

  /// The seconds from which a statement is slow.
  let limit: Double
  private let state = Mutex(State())

  init(limit: Double) { self.limit = limit }

  /// Counts the slow statements of this process, of stores that are opened from now on.
  func observeOwn() { SlowStatements.observe(from: limit) { [weak self] in self?.add($0, kind: nil) } }

  func add(_ statement: SlowStatement, kind: String?) {
    state.withLock { state in
      if let key = state.add(statement, kind), !statement.plan.isEmpty { state.entries[key]?.plan = statement.plan }
    }
  }

  /// Takes a line of a worker's standard error; false for one that does not tell of a slow statement.
  ///
  /// - Parameter kind: the kind of the job that the worker runs.
  func take(_ line: String, from worker: WorkerID, kind currentKind: @autoclosure () -> String?) -> Bool {
    guard let line = SlowStatement.Line(line) else { return false }
    let kind: String? = if case .statement = line { currentKind() } else { nil }
    state.withLock { state in
      switch line {
      case .statement(let statement):
        let key = state.add(statement, kind)
        // The lines of another worker about the same statement may be on their way.
        if let key { state.begun = state.begun.filter { $0.value.key != key } }
        state.begun[worker] = key.map { ($0, false) }
      case .plan(let line):
        guard let (key, hasPlan) = state.begun[worker] else { return }
        state.begun[worker]?.hasPlan = true
        let plan = hasPlan ? state.entries[key]?.plan ?? [] : []
        if plan.count < SlowStatement.mostPlanLines { state.entries[key]?.plan = plan + [line] }
      }
    }
    return true
  }

  /// The worker prints nothing more.
  func forget(_ worker: WorkerID) { state.withLock { _ = $0.begun.removeValue(forKey: worker) } }

  /// The slowest first.
  var status: PoolStatus.SlowStatements {
    state.withLock { state in
      let statements = state.entries.map { key, entry in
        PoolStatus.SlowStatement(
          sql: key.sql, kind: key.kind, count: entry.count, longest: entry.longest, total: entry.total,
          plan: entry.plan)
      }
      return PoolStatus.SlowStatements(
        limit: limit, count: state.count,
        statements: statements.sorted { ($1.longest, $0.sql, $0.kind ?? "") < ($0.longest, $1.sql, $1.kind ?? "") })
    }
  }
}

extension SlowStatementTable.State {
  /// Counts a statement. Returns its key if it has taken longer than all before it with its text: then its plan, if it
  /// has one, replaces theirs.
  ///
  /// A process plans a text once for all kinds of jobs, so the first run of a kind begins with the plan of another one.
  fileprivate mutating func add(_ statement: SlowStatement, _ kind: String?) -> SlowStatementTable.Key? {
    count += 1
    let key = SlowStatementTable.Key(sql: statement.sql, kind: kind)
    if entries[key] == nil, entries.count >= SlowStatementTable.kept {
      guard let least = entries.min(by: { $0.value.longest < $1.value.longest }),
        least.value.longest < statement.seconds
      else { return nil }
      entries[least.key] = nil
    }
    var entry = entries[key] ?? SlowStatementTable.Entry(plan: plan(of: key.sql))
    let isLongest = entry.count == 0 || statement.seconds > entry.longest
    entry.count += 1
    entry.total += statement.seconds
    if isLongest { entry.longest = statement.seconds }
    entries[key] = entry
    return isLongest ? key : nil
  }

  /// A plan that a text has in jobs of any kind; empty without one.
  private func plan(of sql: String) -> [String] {
    entries.first { $0.key.sql == sql && !$0.value.plan.isEmpty }?.value.plan ?? []
  }
}
