import CoreData

/// Jobs of files without an object for each: the pool hands them on by their keys, and workers read their rows.
extension JobStore {
  /// Whether `insertPlain` can take the jobs of a file. It cannot where jobs concern each other, or other jobs: unique
  /// keys, labels, and the token of a submission. Most files are plain.
  public func isPlain(_ requests: [JobRequest]) -> Bool {
    requests.first?.submission == nil
      && requests.indices.allSatisfy { index in
        requests[index].uniqueKey == nil && requests[index].uniqueBy.isEmpty && requests[index].label == nil
      }
  }

  /// The result of a plain intake.
  public struct PlainIntake: Sendable {
    /// The rows of the files, in their order.
    public var files: [NSManagedObjectID] = []
    /// The jobs that may run at once, unless they are too many.
    public var ready: [JobSummary] = []
    /// The keys of all jobs, unless they are too many.
    public var keys: ClosedRange<JobKey>?
    /// How many jobs there are.
    public var count = 0
  }

  /// Inserts the jobs of some files and the files' names, and saves: one transaction, without objects. Nil, with
  /// nothing inserted, where the store can only save objects, or the context has objects to check in its save.
  ///
  /// ```text
  /// insert(_:into:at:), save     an object for each job ─▶ changes of the context ─▶ rows
  /// insertPlain                  a row for each job     ─▶ the store, as of a batch insertion
  /// ```
  ///
  /// The rows are written as those of a batch insertion. Compared with ``insert(_:into:at:)`` and a save it spares each
  /// job an object with its snapshot, the context's change and its notification, and the search for keys that are
  /// taken. On a quiet machine a saved object takes 3.6 allocations and 1.35 times the cycles of plain C, a row of a
  /// batch 0.6 allocations and as many cycles as plain C (`Benchmarks`, `Thresholds.json`).
  ///
  /// - Parameters:
  ///   - requests: the jobs of each file, all of them ``isPlain(_:)``, with URIs of objects that are saved.
  ///   - files: the files themselves.
  ///   - limit: with more jobs than this none is returned.
  public func insertPlain(
    _ requests: [[JobRequest]], files: [TakenFileKey], atMost limit: Int, into context: NSManagedObjectContext,
    at now: Date? = nil
  ) throws -> PlainIntake? {
    let now = now ?? self.now
    let entity = PoolJob.entity(in: context)
    guard !context.detectsConflicts, coordinator.takesNewRows(of: entity),
      let fileEntity = coordinator.managedObjectModel.entitiesByName["PoolFile"]
    else { return nil }
    let jobs = requests.count == 1 ? requests[0] : requests.flatMap(\.self)
    let columns = JobField.columns.map { (place: NewRow.Place($0.name, of: entity), value: $0.value) }
    let namePlace = NewRow.Place("name", of: fileEntity)
    let ids = try coordinator.insert(
      [
        NewRows(of: entity, count: jobs.count, keepsIDs: jobs.count <= limit) { row, index in
          // One copy of the job for all columns: it has many fields, and each copy counts them all.
          let job = jobs[index]
          for column in columns { column.value(job, now)?.set(row, at: column.place) }
        },
        NewRows(of: fileEntity, count: files.count, keepsIDs: true) { row, index in
          row.set(files[index].text, at: namePlace)
        },
      ], by: context)
    var intake = PlainIntake(files: ids[1], count: jobs.count)
    if let first = ids[0].first?.key, let last = ids[0].last?.key { intake.keys = first...last }
    for (id, job) in zip(ids[0], jobs) where job.firstState(at: now) == .available {
      if let key = id.key { intake.ready.append(JobSummary(job, key: key, createdAt: now)) }
    }
    return intake
  }
}
