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
  ///   replaced, for a file of the model, for a path in the folder of the store's large values, whose files are rows'
  ///   values, and for one in the queue directory: the pool would take the file for a job file.
  package func checkOutput(path: String) throws(PermanentFailure) {
    let store = JobAttempt.running(self)?.runner.store.files ?? .none
    let environment = ProcessInfo.processInfo.environment
    if let obstacle = OutputPath.obstacle(
      to: path, store: store, model: environment[.model], queue: environment[.queue])
    {
      throw PermanentFailure("\(path) \(obstacle)")
    }
    do {
      try checkReplaceable(path)
    } catch {
      throw PermanentFailure(error.description)
    }
  }
}
