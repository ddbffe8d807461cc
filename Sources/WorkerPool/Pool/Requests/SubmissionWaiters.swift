import Foundation
import Jobs
import LinuxSystem

/// Tells clients which jobs their submissions brought, as soon as the store has them.
final class SubmissionWaiters {
  /// A client that waits for the jobs of a submission.
  private struct Waiter {
    let token: String
    let client: StatusServer.Client
    let timeout: TimerQueue.Token
  }

  /// Seconds for which a client waits if its request has no deadline.
  static let timeout = 10.0
  /// Clients that wait at a time; further ones are refused.
  static let limit = 1024

  private let core: PoolCore
  private var waiters = Tickets<Waiter>()
  private var flight = SingleFlight()

  init(_ core: PoolCore) { self.core = core }

  func wait(_ request: StatusRequest, _ client: StatusServer.Client) {
    guard let token = request.submission, JobRequest.isName(token) else {
      return client.reply(StatusReply(ok: false, error: "submission needs the token of a submission"))
    }
    guard waiters.all.count < Self.limit else {
      return client.reply(StatusReply(ok: false, error: "too many ask for their submissions; ask again later"))
    }
    let seconds = request.deadline ?? Self.timeout
    let ticket = waiters.next()
    let timeout = core.loop.timers.after(seconds) { [weak self] in
      guard let waiter = self?.waiters.redeem(ticket) else { return }
      waiter.client.reply(
        StatusReply(
          ok: false, error: "no job file with the submission \(token) was taken within \(Clock.text(seconds))"))
    }
    waiters[ticket] = Waiter(token: token, client: client, timeout: timeout)
    client.whenGone = { [weak self] in
      guard let waiter = self?.waiters.redeem(ticket) else { return }
      self?.core.loop.timers.cancel(waiter.timeout)
    }
    find()
  }

  /// Asks the store for the jobs that clients wait for. Called when there are new ones.
  func find() {
    guard !waiters.all.isEmpty, flight.request() else { return }
    core.source.findSubmissions(Set(waiters.all.values.map(\.token)).sorted())
  }

  /// The store has the jobs of these submissions, by token.
  func found(_ jobsByToken: [String: SubmittedJobs]) {
    let mustFindAgain = flight.ended()
    for (ticket, waiter) in waiters.all {
      guard let jobs = jobsByToken[waiter.token] else { continue }
      waiters[ticket] = nil
      core.loop.timers.cancel(waiter.timeout)
      waiter.client.reply(
        StatusReply(
          submission: .init(
            token: waiter.token, uriPrefix: core.coordinator.jobURIs.prefix, runs: jobs.runs,
            store: core.configuration.place.absolute.text)))
    }
    if mustFindAgain { find() }
  }
}
