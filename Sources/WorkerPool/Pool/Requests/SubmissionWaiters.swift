import Foundation
import Jobs

/// Tells senders which jobs came of their submissions, as soon as the store has them.
extension PoolServer {
  /// Somebody who waits for the jobs of a submission.
  struct SubmissionAsker {
    let token: String
    let client: StatusServer.Client
    let timeout: TimerQueue.Token
  }

  /// Seconds for which an asker waits when it does not say for how long.
  static let submissionPatience = 10.0
  /// Askers who wait at a time; further ones are refused.
  static let mostSubmissionAskers = 1024

  func askForSubmission(_ request: StatusRequest, _ client: StatusServer.Client) {
    guard let token = request.submission, JobFile.isName(token) else {
      return client.reply(StatusReply(ok: false, error: "submission needs the token of a submission"))
    }
    guard submissionAskers.count < Self.mostSubmissionAskers else {
      return client.reply(StatusReply(ok: false, error: "too many ask for their submissions; ask again later"))
    }
    let patience = request.deadline ?? Self.submissionPatience
    lastTicket += 1
    let number = lastTicket
    let timeout = loop.timers.after(patience) { [weak self] in
      guard let asker = self?.submissionAskers.removeValue(forKey: number) else { return }
      asker.client.reply(
        StatusReply(ok: false, error: "no job file with the submission \(token) was taken within \(patience) s"))
    }
    submissionAskers[number] = SubmissionAsker(token: token, client: client, timeout: timeout)
    findSubmissions()
  }

  /// Looks into the store for what is asked for; while one look is under way, the next waits for it.
  func findSubmissions() {
    guard !submissionAskers.isEmpty, submissionFlight.request() else { return }
    source.findSubmissions(Set(submissionAskers.values.map(\.token)).sorted())
  }

  func foundSubmissions(_ found: [String: SubmittedJobs]) {
    let mustFindAgain = submissionFlight.ended()
    for (number, asker) in submissionAskers {
      guard let jobs = found[asker.token] else { continue }
      submissionAskers[number] = nil
      loop.timers.cancel(asker.timeout)
      asker.client.reply(
        StatusReply(
          submission: .init(
            token: asker.token, uriPrefix: coordinator.jobURIs.prefix, runs: jobs.runs,
            store: URL(fileURLWithPath: configuration.store).path)))
    }
    if mustFindAgain { findSubmissions() }
  }
}
