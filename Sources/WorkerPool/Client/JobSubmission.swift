import CoreData
import Jobs

/// Submits jobs as any producer does: a file under a temporary name, synchronised and renamed into `incoming/`.
public struct JobSubmission {
  private let layout: QueueLayout

  /// - Parameter queue: the path of the queue directory. It is made if it is not there yet.
  public init(queue: String) throws {
    layout = QueueLayout(root: queue)
    try layout.create()
  }

  /// Writes one file with all the jobs, which are taken in one transaction.
  ///
  /// - Returns: the path of the file. It is gone as soon as the pool has taken it.
  /// - Throws: ``FileError``; ``JobFileError`` for jobs that the pool would reject.
  @discardableResult
  public func submit(_ jobs: [JobRequest]) throws -> String {
    let bytes = Array(try JobFile.text(jobs).utf8)
    _ = try JobFile.parse(bytes)
    let name = UUID().uuidString.lowercased() + ".json"
    let temporary = layout.incoming + "/." + name + ".tmp"
    let path = layout.incoming + "/" + name
    do {
      try write(bytes, to: temporary)
      guard rename(temporary, path) == 0 else { throw FileError(path: path, action: "be put in place", errno: errno) }
    } catch {
      unlink(temporary)
      throw error
    }
    return path
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be created", errno: errno) }
    defer { close(descriptor) }
    try bytes.writeAll(to: descriptor, path: path)
    guard fsync(descriptor) == 0 else { throw FileError(path: path, action: "be synchronised", errno: errno) }
  }
}

/// One job for each object that a query finds, or for each few of them.
public struct JobTemplate {
  /// The job, without its objects.
  public let request: JobRequest
  /// Objects of one job.
  public let chunk: Int

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
