import Glibc
import LinuxSystem
import WorkerProtocol

/// Runs jobs one by one on the caller's thread, as a worker does, with no pool at the other end of its connection: for
/// tests of plugins.
///
/// Use it on one thread. What only a pool does is left out: a job that takes too long is not killed, and a job that
/// ends its process ends the caller's.
package final class JobTrial {
  private let connection: WorkerConnection
  private let runner: JobRunner
  private let pool: Connection

  /// - Parameter keptKinds: kinds of jobs whose changes are kept.
  /// - Throws: `SystemCallError` when there are no descriptors left.
  package init(workers: [any Worker.Type], store: JobStore, keptKinds: Set<String> = []) throws {
    let ends = try UnixSocket.pair()
    pool = ends.near
    // The connection closes its end itself.
    connection = try WorkerConnection(
      descriptor: fcntl(ends.far.number, F_DUPFD_CLOEXEC, 0), signals: nil, kinds: workers.map { $0.kind },
      orphanDeadline: 0)
    runner = JobRunner(workers: workers, store: store, connection: connection, keptKinds: keptKinds)
  }

  /// Runs one attempt of a job that is available in the store. Its row says afterwards how it ended.
  ///
  /// - Parameter stop: why the job is asked to stop, from its begin on.
  /// - Returns: what a pool would have been told.
  package func run(_ job: ObjectURI, stop: StopReason?) throws -> [WorkerMessage] {
    connection.change { $0.session.receive(.run([job])) }
    guard connection.begin(limit: 1) != nil else { return [] }
    if let stop { connection.change { $0.session.stop(job, stop) } }
    _ = runner.runAlone(job)
    var said: [WorkerMessage] = []
    while true {
      connection.change { _ in }
      guard case .lines(let lines) = try pool.receive(), !lines.isEmpty else { return said }
      said += try lines.map { try WorkerMessage(line: $0) }
    }
  }
}
