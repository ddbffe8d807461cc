import Jobs
import LinuxSystem

extension Job {
  /// Checks the path of a file that the job will write, before it does its work.
  ///
  /// - Throws: ``PermanentFailure`` when a file of the store, or something other than a regular file, would be
  ///   replaced.
  package func checkOutput(path: String) throws(PermanentFailure) {
    if let store = JobAttempt.running(self)?.runner.store.files, store.contains(path: path) {
      throw PermanentFailure("\(path) is a file of the store; choose another path")
    }
    do {
      try checkReplaceable(path)
    } catch {
      throw PermanentFailure(error.description)
    }
  }
}
