import CoreData
import Jobs

/// Job files that are read and not yet committed: those of one transaction.
struct IntakeBatch {
  /// The most files of one transaction, and the jobs and bytes after which no further file joins it: the first of many
  /// jobs starts soon, and memory is bounded. The jobs of one file stay together.
  static let mostFiles = 1000
  static let mostJobs = 10_000
  static let mostBytes = 4 << 20
  /// How many jobs a report lists; more are fetched from the store.
  private static let jobsToTell = 500

  private(set) var files: [TakenJobFile] = []
  private var requests: [[JobRequest]] = []
  private(set) var jobs = 0
  private var bytes = 0
  /// Whether the jobs of all files can be inserted without objects.
  private var isPlain = true
  /// Names that were examined, with those of files that are not taken.
  var examined = 0

  var isFull: Bool { examined >= Self.mostFiles || jobs >= Self.mostJobs || bytes >= Self.mostBytes }

  /// - Parameter isPlain: whether the jobs can be inserted without objects.
  mutating func add(_ file: TakenJobFile, _ jobs: [JobRequest], size: Int, isPlain: Bool) {
    self.isPlain = self.isPlain && isPlain
    files.append(file)
    requests.append(jobs)
    self.jobs += jobs.count
    bytes += size
  }

  /// Takes out the files whose jobs wait for jobs that are not in the store, each with the reason.
  mutating func takeUnfit(
    for store: JobStore, in context: NSManagedObjectContext
  ) throws -> [(file: TakenJobFile, reason: String)] {
    let problems = try requests.map { try store.problem(with: $0, in: context) }
    if problems.allSatisfy({ $0 == nil }) { return [] }
    let unfit = zip(files, problems).compactMap { file, problem in problem.map { (file: file, reason: $0) } }
    let fit = problems.indices.filter { problems[$0] == nil }
    files = fit.map { files[$0] }
    requests = fit.map { requests[$0] }
    jobs = requests.reduce(0) { $0 + $1.count }
    return unfit
  }

  /// Commits the jobs of the files together with the files' names, and reports the jobs that may run now unless they
  /// are too many. Returns the rows of the files.
  ///
  /// - Throws: a conflict when another process has taken a unique key of the jobs meanwhile, or written or deleted the
  ///   job that had one.
  func commit(
    to store: JobStore, _ context: NSManagedObjectContext, _ outcome: inout IntakeReport
  ) throws -> [NSManagedObjectID] {
    let keys = try files.map { try $0.key() }
    // At a server other pools may insert jobs with keys between these.
    if isPlain, !store.isShared,
      let intake = try store.insertPlain(requests, files: keys, atMost: Self.jobsToTell, into: context)
    {
      outcome.jobs = jobs
      // By index: a job has many fields, and a copy counts them all.
      outcome.someWait = requests.contains { jobs in
        jobs.indices.contains { jobs[$0].options.waitsForJobs || jobs[$0].batch != nil }
      }
      outcome.ready = intake.ready
      outcome.keys = intake.keys
      return intake.files
    }
    // Labels and tokens belong to their file; files without any are inserted together.
    let isLabelled: ([JobRequest]) -> Bool = { $0.first?.submission != nil || $0.contains { $0.label != nil } }
    var jobs = try store.insert(requests.filter { !isLabelled($0) }.flatMap(\.self), into: context)
    for file in requests.filter(isLabelled) { jobs += try store.insert(file, into: context) }
    let rows = keys.map { store.insertTakenFile($0, into: context) }
    try context.save()
    outcome.jobs = self.jobs
    outcome.someWait = jobs.contains { $0.state == .pending || $0.batch != nil }
    if jobs.count <= Self.jobsToTell { outcome.ready = jobs.compactMap(JobSummary.init) }
    return rows.map(\.objectID)
  }
}
