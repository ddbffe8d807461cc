import CoreData
import Foundation
import Jobs
import LinuxSystem

/// A store that pools of several hosts share. With a SQLite file nothing here does anything.
extension StoreJobSource {
  /// Whether this pool does what one pool does for all: due jobs, periodic entries, deletions.
  var leads: Bool { membership?.isLeader ?? true }

  /// Jobs that may run now, for the coordinator. In a shared store only a claim makes them this pool's.
  func offered(_ jobs: [JobSummary]) -> [WindowJob] { membership == nil ? windowJobs(jobs) : [] }

  /// Ready jobs that no other pool hands out, and whether there are others.
  func readyJobs(
    _ query: ReadyQuery, _ context: NSManagedObjectContext
  ) throws -> (jobs: [JobSummary], areMore: Bool) {
    guard let membership else {
      let jobs = try store.readyJobs(query, in: context)
      return (jobs, jobs.count >= query.limit)
    }
    return try store.claimReady(query, for: membership.member.identity, besides: membership.gone, in: context)
  }

  /// Begins to take part.
  func startSharing() {
    membership?.start(store.poolIdentifier) { [weak self] in self?.handle($0) }
  }

  /// Gives back all claims, and ends the session with the server.
  func stopSharing(_ context: NSManagedObjectContext) {
    guard let membership else { return }
    // If this fails, the end of the session says the same.
    _ = try? store.noteGone(membership.member.identity, in: context)
    membership.leave()
  }

  private func handle(_ event: StoreMembership.Event) {
    switch event {
    case .jobsCame: report(.jobsCame)
    case .leads: report(.leads)
    case .cutOff(let reason): report(.cutOff(reason))
    case .membersChanged: watchNeighbour()
    case .isGone(let identity): noteGone(identity)
    }
  }

  private func watchNeighbour() {
    work { [self] context in
      guard let membership else { return }
      let living = try store.members(in: context)
      membership.watch(living, gone: try store.goneMembers(in: context))
      guard living.contains(where: { $0.identity == membership.member.identity }) else {
        return report(.cutOff("another pool has found this one dead"))
      }
      report(.jobsCame)
    }
  }

  /// The server has released the lock of a pool: what it had claimed is for the others.
  private func noteGone(_ identity: Int64) {
    work { [self] context in
      guard let member = try store.members(in: context).first(where: { $0.identity == identity }) else { return }
      guard try store.noteGone(identity, in: context) else { return }
      report(
        .logged(
          LogRecord(
            event: .hostGone,
            text: "the pool on \(member.host), process \(member.pid), is gone: other pools run its jobs",
            fields: [.path(member.queue)])))
    }
  }
}
