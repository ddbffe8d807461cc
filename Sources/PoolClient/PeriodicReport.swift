import CoreData
import Foundation
import Jobs

/// The periodic entries of a queue directory: when they ran last and run next, and what is wrong with bad files.
///
/// ```swift
/// import PoolClient
///
/// let report = try PeriodicReport(queue: "queue/", store: "app.sqlite")
/// for row in report.rows { print(row.name, row.nextRun?.description ?? row.problem ?? "never") }
/// ```
///
/// It reads each file in `periodic/` as the pool does, so it also tells whether a new file is right before the pool
/// sees it. No pool need run. A file that is being written may count as bad: the next report has it.
public struct PeriodicReport {
  /// One file in `periodic/`.
  public struct Row {
    /// The name of the file, without the ending.
    public let name: String
    /// Nil for a bad file.
    public let entry: PeriodicEntry?
    /// The last time for which a job was submitted; nil when there was none, or the store is not known.
    public let lastRun: Date?
    /// The next time after the moment of the report; nil when it never comes, or the file is not an entry.
    public let nextRun: Date?
    /// What is wrong with the file.
    public let problem: String?
  }

  /// A row for each file in `periodic/`, good or bad, sorted by name.
  public let rows: [Row]
  /// Whether the last runs could be looked up.
  public let knowsLastRuns: Bool

  /// Reads the entries of a queue directory.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let report = try PeriodicReport(queue: "queue/", store: nil)  // without the last runs
  /// let bad = report.rows.filter { $0.problem != nil }
  /// print(bad.isEmpty ? "all entries are good" : bad.map(\.name).joined(separator: ", "))
  /// ```
  ///
  /// It reads each file, and makes one fetch in the pool's store.
  ///
  /// - Parameters:
  ///   - queue: the queue directory; its `periodic/` is read.
  ///   - store: the path of the store that notes the last runs; nil when it is not known.
  ///   - now: the moment from which the next runs are counted. Default: now.
  /// - Throws: ``PeriodicReportError``, and what reading the directory and the store throws.
  public init(queue: String, store: String?, at now: Date = Date()) throws {
    let path = QueueLayout(root: queue).periodic
    guard FileManager.default.fileExists(atPath: path) else { throw PeriodicReportError.noDirectory(path) }
    let (entries, problems) = try PeriodicDirectory(path: path).entries()
    let lastRuns = try store.map { try StoreReader(poolStore: $0).lastPeriodicRuns(of: entries) }
    knowsLastRuns = lastRuns != nil
    let good = entries.map { entry in
      Row(
        name: entry.name, entry: entry, lastRun: lastRuns?[entry.name], nextRun: entry.next(after: now), problem: nil)
    }
    let bad = problems.map { Row(name: $0, entry: nil, lastRun: nil, nextRun: nil, problem: $1) }
    rows = (good + bad).sorted { $0.name < $1.name }
  }

  /// The entry with this name.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let report = try PeriodicReport(queue: "queue/", store: nil)
  /// let entry = try report.entry("nightly")
  /// print(entry.job.kind, entry.next(after: Date())?.description ?? "never")
  /// ```
  ///
  /// - Throws: ``PeriodicReportError`` when there is none, with the nearest name, or its file is bad.
  public func entry(_ name: String) throws(PeriodicReportError) -> PeriodicEntry {
    guard let row = rows.first(where: { $0.name == name }) else {
      throw .noEntry(name, nearest: Spelling.nearest(to: name, among: rows.map(\.name)))
    }
    guard let entry = row.entry else { throw .bad(row.problem ?? "") }
    return entry
  }

  // MARK: As text

  /// The lines of a table, and below it one line for each bad file with what is wrong.
  ///
  /// ```text
  /// name     cron       time zone      catch up  kind    last run           next run
  /// broken                                                                  bad
  /// nightly  0 3 * * *  Europe/Berlin  last      export  2026-01-01 02:00Z  2026-01-02 02:00Z
  /// bad: …/periodic/broken.json …
  /// ```
  ///
  /// Times are in UTC. A question mark stands for a last run that could not be looked up.
  public func lines(_ layout: TextLayout = .file) -> [String] {
    if rows.isEmpty { return ["no periodic entries"] }
    var table = TextTable([
      .text("name"), .text("cron"), .text("time zone", worth: 2), .text("catch up", worth: 1), .text("kind", worth: 3),
      .text("last run", worth: 4), .text("next run"),
    ])
    for row in rows {
      guard let entry = row.entry else {
        table.add([row.name, "", "", "", "", "", "bad"], styles: [6: .bad])
        continue
      }
      table.add([
        row.name, entry.cron.text, entry.timeZone.identifier, entry.catchUp.rawValue, entry.job.kind,
        row.lastRun.map(Self.minute) ?? (knowsLastRuns ? "" : "?"), row.nextRun.map(Self.minute) ?? "never",
      ])
    }
    let problems = rows.compactMap(\.problem).flatMap {
      layout.wrapped(TerminalText.escaped("bad: \($0)"), indentation: 2)
    }
    return table.lines(layout) + problems
  }

  /// `2026-01-31 08:00Z`: entries run at whole minutes.
  private static func minute(_ date: Date) -> String {
    Timestamp.text(date).prefix(16).replacingOccurrences(of: "T", with: " ") + "Z"
  }

  /// A JSON object for each entry, good or bad; a bad one has `problem`, and null for all that its file does not say.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// for entry in try PeriodicReport(queue: "queue/", store: "app.sqlite").json { print(entry.text) }
  /// ```
  public var json: [JSONValue] {
    rows.map { row in
      .object([
        JSONMember("name", .string(row.name)), JSONMember("cron", .optional(row.entry?.cron.text)),
        JSONMember("timeZone", .optional(row.entry?.timeZone.identifier)),
        JSONMember("catchUp", .optional(row.entry?.catchUp.rawValue)),
        JSONMember("kind", .optional(row.entry?.job.kind)),
        JSONMember("lastRun", .optional(row.lastRun.map(Timestamp.text))),
        JSONMember("nextRun", .optional(row.nextRun.map(Timestamp.text))),
        JSONMember("problem", .optional(row.problem)),
      ])
    }
  }
}

/// Why there is no periodic entry.
public enum PeriodicReportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The queue directory at that path has no `periodic/`.
  case noDirectory(String)
  /// There is no entry with this name; with the name that was probably meant.
  case noEntry(String, nearest: String?)
  /// The file of the entry is bad, for that reason.
  case bad(String)

  /// What is wrong and what to do, in one sentence.
  public var description: String {
    switch self {
    case .noDirectory(let path): "there is no directory \(path); `workerpool run` makes it"
    case .noEntry(let name, let nearest):
      "there is no periodic entry \(name)\(Spelling.hint(nearest))"
    case .bad(let problem): problem
    }
  }
}

extension StoreReader {
  /// The last time of each entry for which a job was submitted, by name. An entry whose times were changed since has no
  /// last run: its mark belongs to the former times.
  fileprivate func lastPeriodicRuns(of entries: [PeriodicEntry]) throws -> [String: Date] {
    var runs: [String: Date] = [:]
    try perform { context, _ in
      let marks = Dictionary(
        try context.fetch(PoolPeriodic.fetchRequest()).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
      for entry in entries {
        guard let mark = marks[entry.name], mark.definition == entry.definition else { continue }
        // The mark of an entry that has not run is the moment at which it was first seen, which is not one of its
        // times.
        if entry.next(after: mark.last - 60) == mark.last { runs[entry.name] = mark.last }
      }
    }
    return runs
  }
}
