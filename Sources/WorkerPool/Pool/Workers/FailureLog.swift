import Foundation
import Jobs

/// Logs failed attempts with their reasons, which only the store has: the socket between pool and worker carries none.
final class FailureLog {
  /// Characters of a reason that the log shows; the job's row has all.
  private static let longestReason = 300
  /// Failures that wait for the store. More are logged without their reasons, unless hooks are told of them then.
  private static let mostWaiting = 1000

  private let core: PoolCore
  private var waiting: [JobKey] = []
  /// The jobs whose reasons the store reads, those of the next answer first.
  private var asked: [[JobKey]] = []

  init(_ core: PoolCore) { self.core = core }

  /// Whether no failure waits for the store.
  var isIdle: Bool { waiting.isEmpty && asked.isEmpty }

  /// An attempt of the job ended in an error, which its row has.
  func failed(_ job: JobKey) {
    guard waiting.count < Self.mostWaiting || !core.configuration.hooks.isEmpty else { return log(job, nil) }
    waiting.append(job)
    if asked.isEmpty { askForRest() }
  }

  /// The store has read the reasons that it was asked for.
  func read(_ failures: [JobKey: FailureSummary]) {
    if !asked.isEmpty { for job in asked.removeFirst() { log(job, failures[job]) } }
    if asked.isEmpty { askForRest() }
  }

  /// Asks for the reasons that the store has not been asked for.
  func askForRest() {
    while !waiting.isEmpty {
      let jobs = Array(waiting.prefix(Self.mostWaiting))
      waiting.removeFirst(jobs.count)
      asked.append(jobs)
      core.source.readFailures(jobs)
    }
  }

  private func log(_ job: JobKey, _ failure: FailureSummary?) {
    let uri = core.coordinator.jobURIs[job]
    guard let failure else {
      return core.log(.jobFailed, "\(uri) failed; why: workerpool jobs show \(uri.name)", .jobs([uri.description]))
    }
    let reason = Self.shortened(failure.reason)
    var next = ""
    if failure.isDead {
      next = "; it is dead"
    } else if let date = failure.runAt {
      next = "; it runs again after \(Timestamp.text(date))"
    }
    core.log(
      .jobFailed, "\(uri) (\(failure.kind)) failed: \(reason)\(next)", .jobs([uri.description]), .error(reason))
  }

  /// The first line, or as much of it as fits.
  static func shortened(_ reason: String) -> String {
    let line = reason.split(whereSeparator: \.isNewline).first ?? ""
    let isWhole = line.count <= longestReason && line.count == reason.count
    return isWhole ? reason : "\(line.prefix(longestReason))…"
  }
}
