import CoreData
import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

extension Job {
  /// Checks the path of a file that the job will write, before it does its work.
  ///
  /// - Throws: ``PermanentFailure`` when a file of the store, or something other than a regular file, would be
  ///   replaced, for a path in the folder of the store's large values, whose files are rows' values, and for one in the
  ///   queue directory: the pool would take the file for a job file.
  package func checkOutput(path: String) throws(PermanentFailure) {
    if let store = JobAttempt.running(self)?.runner.store.files {
      if store.contains(path: path) { throw PermanentFailure("\(path) is a file of the store; choose another path") }
      let values = ExternalData.supportFolder(of: URL(fileURLWithPath: store.path))
      if !store.path.isEmpty, DirectoryGuard(values.path).contains(path) {
        throw PermanentFailure("\(path) lies in the folder of the store's large values; choose another path")
      }
    }
    if let queue = ProcessInfo.processInfo.environment[.queue], DirectoryGuard(queue).contains(path) {
      throw PermanentFailure("\(path) lies in the queue directory, where the pool alone writes; choose another path")
    }
    do {
      try checkReplaceable(path)
    } catch {
      throw PermanentFailure(error.description)
    }
  }
}
