import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

extension Job {
  /// Checks the path of a file that the job will write, before it does its work.
  ///
  /// - Throws: ``PermanentFailure`` when a file of the store, or something other than a regular file, would be
  ///   replaced, and for a path in the queue directory: the pool would take the file for a job file.
  package func checkOutput(path: String) throws(PermanentFailure) {
    if let store = JobAttempt.running(self)?.runner.store.files, store.contains(path: path) {
      throw PermanentFailure("\(path) is a file of the store; choose another path")
    }
    if let queue = ProcessInfo.processInfo.environment[.queue], Self.isInside(path, queue) {
      throw PermanentFailure("\(path) lies in the queue directory, where the pool alone writes; choose another path")
    }
    do {
      try checkReplaceable(path)
    } catch {
      throw PermanentFailure(error.description)
    }
  }

  /// Whether a file at the path would lie in the directory, or below it.
  private static func isInside(_ path: String, _ directory: String) -> Bool {
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard let place = realpath(parent), let root = realpath(directory) else { return false }
    return place == root || place.hasPrefix(root + "/")
  }

  private static func realpath(_ path: String) -> String? {
    guard let resolved = Glibc.realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
