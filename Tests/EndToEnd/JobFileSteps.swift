import CSystem
import Foundation
import LinuxSystem
import Testing

/// What happens to job files on their way through the queue directory, as it happens: a file is made, renamed into
/// place, taken by the pool, and removed after its jobs are in the store.
final class JobFileSteps {
  private let events: FileEvents

  init(queue: String) throws {
    events = try FileEvents()
    for part in ["incoming", "taken"] {
      try events.add("\(queue)/\(part)", mask: UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE))
    }
  }

  /// Returns after that many further steps of files whose names end so, or when a process has ended.
  ///
  /// - Throws: ``TestTimeout`` if neither comes.
  func wait(for count: Int, of suffix: String = "", orEndOf pid: Int32? = nil) throws {
    let process = try pid.map { try Descriptor(csystem_pidfd_open($0), "pidfd_open") }
    let milliseconds = Int32(LineReader.timeout.components.seconds) * 1000
    var stepsLeft = count
    while stepsLeft > 0 {
      var waited = [pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)]
      if let process { waited.append(pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)) }
      if poll(&waited, nfds_t(waited.count), milliseconds) == 0 {
        Issue.record("\(stepsLeft) of \(count) steps of a job file did not come")
        throw TestTimeout()
      }
      if waited.count > 1, waited[1].revents != 0 { return }
      stepsLeft -= events.take().count { $0.name?.hasSuffix(suffix) ?? false }
    }
  }

  /// Forgets what has happened.
  func skip() { _ = events.takeAll() }
}
