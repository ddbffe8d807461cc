import CoreData
import Jobs

/// What a job changed in the app's objects, save by save. `workerpool jobs show JOB --changes` prints it, the web page
/// shows it, and `undo` takes it back.
///
/// There are two sources; the first is preferred:
///
/// ```text
/// the pool's store       if the pool runs with --keep-changes for the kind: all values, before and after
/// the app's history      if its store has one: which objects and properties, and which jobs shared the transaction
/// ```
package struct JobEffects {
  package private(set) var saves: [JobSave]
  /// When a person undid all of it; nil if it was not undone.
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

  /// Takes what the app's store has in its persistent history, if the pool has kept nothing. Finds nothing if that part
  /// of the history was deleted, or the history began later.
  package mutating func addHistory(of job: Job, from reader: StoreReader) throws {
    guard saves.isEmpty, let key = job.objectID.key else { return }
    let date = job.createdAt
    try reader.perform { context, _ in saves = try JobSave.history(of: key, since: date, in: context) ?? [] }
  }

  /// Changes that are shown to people; JSON has all.
  package static let shown = 200

  /// The changes by attempt, for people. Values are left out, because other people may see the terminal: ``json`` has
  /// them.
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

  /// How many changes a save has, or why they were not kept, and which jobs shared its transaction: such changes cannot
  /// be undone alone.
  private func summary(_ save: JobSave) -> String {
    let others = save.others.prefix(5).joined(separator: ", ") + (save.others.count > 5 ? ", …" : "")
    let text = save.omission ?? Plural.text(save.changes.count, "change")
    return others.isEmpty ? text : "\(text), in one transaction with \(others)"
  }

  /// The same for programs: an array of saves.
  package var json: JSONValue {
    .array(
      saves.map { save -> JSONValue in
        var members = [
          JSONMember("attempt", .number(save.attempt)), JSONMember("date", .string(Timestamp.text(save.date))),
          JSONMember("changes", .array(save.changes.map(\.json))),
        ]
        if !save.others.isEmpty { members.append(JSONMember("others", .array(save.others.map { .string($0) }))) }
        if let omission = save.omission { members.append(JSONMember("omission", .string(omission))) }
        return .object(members)
      })
  }

  /// The members that a job's JSON has besides.
  package var members: [JSONMember] {
    [JSONMember("changes", json)] + (undoneAt.map { [JSONMember("undoneAt", .string(Timestamp.text($0)))] } ?? [])
  }
}
