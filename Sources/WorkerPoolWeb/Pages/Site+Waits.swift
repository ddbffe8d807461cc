import PoolClient

extension Site {
  /// Lets the reader know why jobs wait.
  func noteWaits(in jobReader: JobReader) {
    let latest = monitor.latest
    jobReader.noteWaits(of: queue, latest.isRunning ? latest.status : nil)
  }
}

extension JobReader {
  /// Asks the pool on a queue directory what keeps jobs from being handed out.
  func noteWaits(of queue: String, _ status: PoolStatus?) {
    // Where no pool answers, jobs wait for one.
    let reply = try? StatusClient(queue: queue).request(StatusRequest(.explain), within: 1)
    reader.note(reply?.obstacles, status)
  }
}

extension JobWait {
  /// In the form of the list.
  var title: String {
    switch self {
    case .time: "a time"
    case .jobs: "other jobs"
    case .paused: "the end of a pause"
    case .limit: "room in a limit"
    case .rate: "room in a rate"
    case .worker: "a worker of its kind"
    case .turn: "its turn"
    case .pool: "a pool"
    }
  }
}
