import CoreData
import Jobs

/// What a job changed in the app's objects, save by save.
package struct JobEffects {
  package private(set) var saves: [JobSave]
  /// When a person undid all of it; nil if nobody did.
  package let undoneAt: Date?

  /// Reads what the pool has kept. On the queue of the job's context.
  package init(_ job: Job) throws {
    guard let key = job.objectID.key, let context = job.managedObjectContext else {
      (saves, undoneAt) = ([], nil)
      return
    }
    saves = try JobStore.saves(of: key, in: context)
    undoneAt = try JobStore.undoneAt(key, in: context)
  }

  /// Takes what the app's store has in its persistent history, if the pool has kept nothing.
  ///
  /// - Parameter reader: reads the app's store.
  package mutating func addHistory(of job: Job, from reader: StoreReader) throws {
    guard saves.isEmpty, let key = job.objectID.key else { return }
    let date = job.createdAt
    try reader.perform { context, _ in saves = try JobSave.history(of: key, since: date, in: context) ?? [] }
  }

  /// Changes that are shown to people; JSON has all.
  package static let shown = 200

  /// The changes by attempt, for people. Values are not shown.
  ///
  /// - Parameter kind: that of the job.
  package func lines(kind: String) -> [String] {
    guard !saves.isEmpty else {
      return [
        "none are known: a pool with --keep-changes \(kind) keeps those of jobs that run from then on, and so does the "
          + "persistent history of the app's store, if it has one"
      ]
    }
    var lines: [String] = []
    var left = Self.shown
    for save in saves {
      lines.append("attempt \(save.attempt), saved at \(Timestamp.text(save.date)): " + summary(save))
      lines += save.changes.prefix(max(0, left)).map { "  \($0.text)" }
      if save.changes.count > left { lines.append("  and \(save.changes.count - max(0, left)) more; --json shows all") }
      left -= save.changes.count
    }
    if let undoneAt { lines.append("undone at \(Timestamp.text(undoneAt))") }
    return lines.map(TerminalText.escaped)
  }

  private func summary(_ save: JobSave) -> String {
    let others = save.others.prefix(5).joined(separator: ", ") + (save.others.count > 5 ? ", …" : "")
    let text = save.omission ?? Plural.text(save.changes.count, "change")
    return others.isEmpty ? text : "\(text), in one transaction with \(others)"
  }

  /// The same for programs: an array of saves.
  package var json: JSONValue {
    .array(
      saves.map { save in
        .object(
          [
            JSONMember("attempt", .number(save.attempt)), JSONMember("date", .string(Timestamp.text(save.date))),
            JSONMember("changes", .array(save.changes.map(\.json))),
          ] + (save.others.isEmpty ? [] : [JSONMember("others", .array(save.others.map(JSONValue.string)))])
            + (save.omission.map { [JSONMember("omission", .string($0))] } ?? []))
      })
  }

  /// The members that a job's JSON has besides.
  package var members: [JSONMember] {
    [JSONMember("changes", json)] + (undoneAt.map { [JSONMember("undoneAt", .string(Timestamp.text($0)))] } ?? [])
  }
}
