import Foundation
import Jobs
import LinuxSystem

/// What earlier pools have left: jobs in the hands of survivors, and jobs that were running when pool and workers died.
struct Succession: Equatable, Sendable {
  /// Jobs in the hands of survivors: no other worker may get them.
  var held: [LedgerEntry] = []
  /// Jobs that had begun alone when their worker died: no row counts that crash yet.
  var crashed: [LedgerEntry] = []
  /// Suspects: jobs that had begun together when their worker died.
  var suspects: [LedgerEntry] = []
  /// Jobs whose cancellation was confirmed, and whose rows may not say so. They are in none of the other lists, but may
  /// be in the hand of a survivor.
  var cancelled: Set<JobKey> = []
  /// Survivors whose jobs the ledger does not list: nothing begins beside them.
  var unlisted: Set<ProcessIdentity> = []

  init() {}

  /// - Parameters:
  ///   - ledger: the ledger of the pool before this one; nil when there is none that can be read.
  ///   - boot: the ID of this boot.
  ///   - orphans: workers of earlier pools that live.
  ///   - dying: processes that were killed, and may still be alive.
  init(
    ledger: LedgerContents?, boot: String, orphans: Set<ProcessIdentity>, dying: Set<ProcessIdentity> = [],
    isAlive: (ProcessIdentity) -> Bool
  ) {
    unlisted = dying.filter(isAlive)
    // The user who cancelled them was told so, and that holds after a boot, too.
    let entries: [LedgerEntry] = ledger?.entries ?? []
    let cancelled: Set<Int64> = Set(entries.filter { $0.state == .cancelled }.map(\.job))
    self.cancelled = cancelled
    // After a boot nothing is left, and the machine is to blame, not the jobs.
    guard let ledger, ledger.boot == boot else {
      unlisted.formUnion(orphans)
      return
    }
    for (process, entries) in Dictionary(grouping: entries.filter { $0.state != .cancelled }, by: \.process) {
      if isAlive(process) {
        if entries.contains(where: { $0.job == 0 }) { unlisted.insert(process) }
        held += entries.filter { $0.job != 0 }
      } else {
        sort(entries.filter { $0.job != 0 }, isStopping: ledger.flags.contains(.stopping))
      }
    }
    crashed.removeAll { cancelled.contains($0.job) }
    suspects.removeAll { cancelled.contains($0.job) }
    // A ledger lists all that workers hold, so an orphan that is not in it holds nothing.
    if ledger.flags.contains(.incomplete) { unlisted.formUnion(orphans) }
  }

  /// The jobs of one dead worker.
  private mutating func sort(_ entries: [LedgerEntry], isStopping: Bool) {
    let begun = entries.filter { $0.state == .begun }
    let suspected = entries.filter { $0.state == .suspect }
    suspects += suspected
    crashed += entries.filter { $0.state == .crashed }
    if isStopping { return }
    if begun.count + suspected.count > 1 { suspects += begun } else { crashed += begun }
  }
}
