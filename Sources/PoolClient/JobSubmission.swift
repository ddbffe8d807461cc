import CoreData
import Jobs
import LinuxSystem

/// Submits jobs as any producer does: a file under a temporary name, synchronised and renamed into `incoming/`.
///
/// ```swift
/// import PoolClient
///
/// let submission = try JobSubmission(queue: "queue/")
/// try submission.submit([JobRequest(kind: "import", parameters: #"{"file": "/data/books.csv"}"#)])
/// ```
///
/// It needs neither the store nor a running pool, only the right to write into the directory. Jobs are taken in one
/// transaction or not at all. For jobs that have to exist exactly if the program's own save succeeds use ``JobQueue``.
public struct JobSubmission {
  private let layout: QueueLayout

  /// - Parameter queue: the path of the queue directory, which a pool has made.
  /// - Throws: ``JobSubmissionError`` if there is no queue directory; ``FileError`` if this user may not examine it.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// do {
  ///   _ = try JobSubmission(queue: "queue/")
  /// } catch let error as JobSubmissionError {
  ///   print(error)  // what is wrong and what to do
  /// }
  /// ```
  public init(queue: String) throws {
    layout = QueueLayout(root: queue)
    var status = stat()
    let isThere = stat(layout.incoming, &status) == 0
    if !isThere, errno == EACCES { throw FileError(path: layout.incoming, action: "be reached", errno: EACCES) }
    guard isThere, FileKind(status) == .directory else { throw JobSubmissionError.noQueue(queue) }
  }

  /// Writes one file with all the jobs, which are taken in one transaction.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let paths = ["/data/a.csv", "/data/b.csv"]
  /// var jobs = try paths.map { try JobRequest(kind: "import", parameters: ["file": $0]) }
  /// jobs[0].submission = "nightly 2026-01-01"  // a second file with this token is not taken
  /// try JobSubmission(queue: "queue/").submit(jobs)
  /// ```
  ///
  /// It waits for the disk, some milliseconds each call: submit many jobs at once. Set ``JobRequest/submission`` of the
  /// first job to a token of your own to ask for the jobs with ``SubmissionInquiry``, and to repeat the call after an
  /// error without a second copy.
  ///
  /// - Returns: the path of the file, which is on disk. It is gone as soon as the pool has taken it.
  /// - Throws: ``FileError``; ``JobFileError`` for jobs that the pool would reject. Then no job is submitted.
  @discardableResult
  public func submit(_ jobs: [JobRequest]) throws -> String {
    let bytes = Array(try JobFile.text(jobs).utf8)
    _ = try JobFile.parse(bytes)
    let name = UUID().uuidString.lowercased() + ".json"
    let path = layout.incoming + "/" + name
    try ReplacingFile.write(bytes, to: path, mode: 0o666, surviving: .power)
    do {
      try synchronizeDirectory(layout.incoming)
    } catch {
      // The pool is responsible for a file that it has taken meanwhile.
      if unlink(path) == 0 { throw error }
    }
    return path
  }
}

/// Why nothing can be submitted.
public enum JobSubmissionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no queue directory at the path. Only a pool makes one, so that no job waits where no pool finds it.
  case noQueue(String)

  /// What is wrong and what to do, in one sentence.
  public var description: String {
    switch self {
    case .noQueue(let path):
      "\(path) is not a queue directory: name the one of a pool with --queue, or start a pool on it first (workerpool "
        + "run)"
    }
  }
}

/// One job for each object that a query finds, or for each group of a few objects.
///
/// ```swift
/// import PoolClient
///
/// let uris = ["x-coredata://A/Book/p1", "x-coredata://A/Book/p2", "x-coredata://A/Book/p3"]
/// let jobs = JobTemplate(request: JobRequest(kind: "index"), chunk: 2).jobs(for: uris)
/// print(jobs.map(\.objects.count))  // [2, 1]
/// ```
public struct JobTemplate {
  /// The job, without its objects.
  public let request: JobRequest
  /// Objects of one job. Few keep a failure small and let workers share the work; many spare the cost of a row and a
  /// transaction for each.
  public let chunk: Int

  /// - Parameters:
  ///   - request: the job, without its objects.
  ///   - chunk: how many objects each job gets; at least 1.
  public init(request: JobRequest, chunk: Int = 1) {
    self.request = request
    self.chunk = max(1, chunk)
  }

  /// The jobs for these objects. A unique key, if the template has one, is completed with the number of the job.
  public func jobs(for objects: [String]) -> [JobRequest] {
    stride(from: 0, to: objects.count, by: chunk).map { start in
      var job = request
      job.objects = Array(objects[start..<min(start + chunk, objects.count)])
      if let key = request.uniqueKey, objects.count > chunk { job.uniqueKey = "\(key)-\(start / chunk + 1)" }
      return job
    }
  }
}
