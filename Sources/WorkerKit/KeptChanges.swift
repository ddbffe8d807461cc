import CoreData

/// Keeps what a job's saves change, in the same transactions, so that people can see it and undo it. One job runs in
/// the context.
///
/// What an object's own `willSave()` sets comes later than this, and is not kept.
///
/// `@unchecked Sendable`: used on the context's queue only, as the attempt is.
final class KeptChanges: @unchecked Sendable {
  private unowned let attempt: JobAttempt
  /// The number of the next save; nil before one has succeeded.
  private var number: Int?
  /// The row of a save that has not succeeded yet: it may be tried again.
  private var row: PoolSetting?

  init(_ attempt: JobAttempt) { self.attempt = attempt }

  func willSave(_ job: Job) {
    guard let key = job.objectID.key else { return }
    let context = attempt.context
    let store = attempt.runner.store
    // A job that catches the error of a save may roll it back, and the row with it.
    if let row, !row.isInserted || row.managedObjectContext !== context { self.row = nil }
    // The job's own row may count the attempt already.
    let attemptNumber = job.state == .succeeded ? max(1, job.attemptNumber - 1) : job.attemptNumber
    var save: JobSave
    do {
      let changes = try ObjectChange.pending(in: context, of: store.appIdentifier)
      guard !changes.isEmpty else { return dropRow() }
      save = JobSave(attempt: attemptNumber, date: store.now, changes: changes)
    } catch {
      // An error while the changes are read must not look like no changes.
      save = JobSave(attempt: attemptNumber, date: store.now, changes: [], omission: FailureText.text(error))
    }
    do {
      let row = try row ?? JobStore.addSave(number, of: key, in: context)
      self.row = row
      row.value = save.text
    } catch {
      complain("the changes of \(job.objectID.uriString) are not kept: \(FailureText.text(error))")
    }
  }

  /// The changes of the save before it failed are gone.
  private func dropRow() {
    if let row { attempt.context.delete(row) }
    row = nil
  }

  func didSave() {
    guard let row else { return }
    number = JobStore.saveNumber(row).map { $0 + 1 }
    self.row = nil
  }
}
