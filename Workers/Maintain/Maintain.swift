import PoolClient
import StoreTools
import WorkerKit
import WorkerProtocol

/// Takes care of the store's file and of finished jobs: one task for each job.
@main struct Maintain: Worker {
  static let kind = "maintain"
  static let summary = "Takes care of the store: checkpoint, optimize, vacuum, check, backup, prune"
  // Two such jobs would only wait for each other.
  static let limit: Int? = 1

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let parameters: MaintainParameters
    do {
      parameters = try MaintainParameters(try job.parameters)
    } catch {
      throw PermanentFailure("\(error)")
    }
    let environment = ProcessInfo.processInfo.environment
    guard let store = environment[.store], let queue = environment[.queue] else {
      throw PermanentFailure("the pool does not say where its store and its queue directory are")
    }
    if let file = parameters.file { try job.checkOutput(path: file) }
    let place = StorePlace(store)
    if place.isServer, let tool = parameters.task.toolOfServers {
      throw PermanentFailure("the task \(parameters.task) is for stores in files; at a server use \(tool)")
    }
    func maintenance() throws -> StoreMaintenance {
      try StoreMaintenance(url: place.url, writeTurn: environment[.writeTurn])
    }
    switch parameters.task {
    case .checkpoint: try Checkpoint.ask(queue: queue)
    case .optimize: try maintenance().optimize()
    case .vacuum: job.output = try vacuum(maintenance(), job)
    case .check:
      let problems = try maintenance().problems()
      guard problems.isEmpty else { throw DamagedStore(problems: problems) }
      job.output = "ok"
    case .backup:
      try maintenance().backUp(to: URL(fileURLWithPath: parameters.file ?? "")) { done, all in
        try job.checkStop()
        job.report(done: Int64(done), of: Int64(all))
      }
    case .prune: try prune(job, parameters.retention, in: context)
    }
    try job.checkStop()
  }

  private func vacuum(_ maintenance: StoreMaintenance, _ job: Job) throws -> String {
    let pages = "\(try maintenance.vacuum { job.isStopRequested }) pages were given back"
    guard let files = try maintenance.removeUnusedFiles() else {
      return "\(pages); files of external data that no row names stay, because the store is in use: run it again later"
    }
    return files == 0 ? pages : "\(pages), \(files) files of external data that no row named were removed"
  }

  private func prune(_ job: Job, _ retention: JobRetention, in context: NSManagedObjectContext) throws {
    let pruning = job.pruning(retention)
    // With what earlier attempts have deleted.
    var count = job.checkpoint.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    while let pruning, !job.isStopRequested {
      let deleted = try pruning.deleteNext(in: context, for: job) { deleted in
        try job.save(checkpoint: Data(String(count + deleted).utf8))
      }
      guard deleted > 0 else { break }
      count += deleted
    }
    job.output = "\(Plural.text(count, "job")) \(count == 1 ? "was" : "were") deleted"
  }
}

/// What a job of the kind `maintain` says in its parameters.
struct MaintainParameters {
  enum Task: String, CaseIterable {
    case checkpoint, optimize, vacuum, check, backup, prune

    /// What does the same for a store at a server; nil for a task that is for every store.
    var toolOfServers: String? {
      switch self {
      case .checkpoint: "CHECKPOINT, which the server also does by itself"
      case .optimize: "ANALYZE"
      case .vacuum: "VACUUM"
      case .check: "pg_amcheck"
      case .backup: "pg_dump"
      case .prune: nil
      }
    }
  }

  let task: Task
  /// Where a backup goes: an absolute path.
  let file: String?
  /// A bound that the job does not name deletes nothing: the pool's own may be wider.
  let retention: JobRetention

  init(_ parameters: JSONValue) throws(JSONFieldError) {
    var fields = try JSONFields(parameters, named: "the parameters")
    task = try fields.requiredChoice("task")
    file = task == .backup ? try fields.requiredPath("file") : nil
    var retention = JobRetention(finished: nil, dead: nil, count: nil)
    if task == .prune {
      let seconds = 0...(100 * 366 * 86_400)
      if let age = try fields.int("finishedOlderThan", in: seconds) { retention.finished = Double(age) }
      if let age = try fields.int("deadOlderThan", in: seconds) { retention.dead = Double(age) }
      if let count = try fields.int("keep", in: 0...Int.max) { retention.count = count }
      guard retention != JobRetention(finished: nil, dead: nil, count: nil) else {
        throw JSONFieldError(#"the parameters of prune need "finishedOlderThan", "deadOlderThan" or "keep""#)
      }
    }
    self.retention = retention
    try fields.finish()
  }
}

/// A store that its integrity check found damaged. Another check finds the same.
struct DamagedStore: DetailedFailure, CustomStringConvertible {
  let problems: [String]

  var output: String? { problems.joined(separator: "\n") }
  var standardError: [String] { Array(problems.suffix(AttemptFailure.kept)) }
  var signal: Int32? { nil }
  var isPermanent: Bool { true }
  var description: String { "the store is damaged: \(problems.first ?? "")" }
}

/// Asks the pool for a checkpoint: its process is the only one that makes any.
enum Checkpoint {
  static func ask(queue: String) throws {
    let reply = try StatusClient(queue: queue).request(StatusRequest(.checkpoint))
    guard reply.ok else { throw CheckpointRefused(reason: reply.error ?? "it gave no reason") }
  }
}

/// The pool did not make a checkpoint.
struct CheckpointRefused: Error, CustomStringConvertible {
  let reason: String
  var description: String { "the pool made no checkpoint: \(reason)" }
}
