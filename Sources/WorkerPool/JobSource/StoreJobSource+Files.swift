import Jobs

/// Job files, and the submissions that came with them.
extension StoreJobSource {
  func findSubmissions(_ tokens: [String]) {
    work { [self] context in
      report(.submissions(try store.submissions(tokens, in: context)))
    } onFailure: { [report] error in
      report(.trouble("submissions cannot be fetched: \(ErrorText.text(error))"))
      report(.submissions([:]))
    }
  }

  func takeFiles(_ names: [String]?) {
    if let names { intake.take(names) } else { intake.takeAll() }
  }

  func takeFilesHere(_ names: [String]?) { intake.takeHere(names) }

  /// Reports what a transaction of the intake brought.
  func took(_ round: IntakeReport) {
    let rejected = round.rejected.map {
      LogRecord(event: .fileRejected, text: "\($0.name) is rejected: \($0.reason)", fields: [.path($0.name)])
    }
    let messages = rejected + round.messages.map { LogRecord(event: .trouble, text: $0) }
    report(
      .took(
        jobs: round.jobs, keys: round.keys, ready: offered(round.ready), someWait: round.someWait,
        postponed: round.postponed, messages: messages))
    if !round.replaced.isEmpty { report(.replaced(round.replaced)) }
  }
}
