import CoreData

/// A job, under the name that authors of plugins use.
///
/// It is an ordinary managed object of the entity `PoolJob` in the pool's own store: an app fetches, observes and
/// merges it as any other. Use it on its context's queue. What a worker can ask of the job that it runs is in
/// `WorkerKit`.
///
/// ```swift
/// let dead = Job.fetchRequest()
/// dead.predicate = JobState.dead.predicate
/// dead.sortDescriptors = [NSSortDescriptor(key: "finishedAt", ascending: false)]
/// for job in try context.fetch(dead) { print(job.kind, job.failures.last?.message ?? "") }
/// ```
///
/// Change a job through `workerpool`, `StatusClient`, or the methods here: the coordinator and the workers rely on its
/// state. A program that sets attributes itself races with them; its save then fails with a merge conflict.
public typealias Job = PoolJob

// Pool.xcdatamodel has the class and the attributes that are used as they are stored. This file reads the others.
extension PoolJob {
  /// The name of the entity.
  public static let entityName = "PoolJob"

  /// Jobs of a higher priority run first, from -32,768 to 32,767. Default 0. A row that another program wrote may hold
  /// any number; the nearest one is read.
  public var priority: Int16 {
    get { Int16(clamping: priorityNumber) }
    set { priorityNumber = Int64(newValue) }
  }

  /// URIs of the objects that the job is about, in their order. `job.objects()` of `WorkerKit` fetches them.
  ///
  /// ```swift
  /// for job in try context.fetch(Job.fetchRequest()) { print(job.kind, job.objectURIs.count) }
  /// ```
  public var objectURIs: [String] {
    get { Self.lines(objectsText) }
    set { objectsText = Self.text(newValue) }
  }

  /// The parameters, parsed with each call; an empty object without any.
  ///
  /// - Throws: ``JSONError`` where an app stored a text that is not JSON.
  public var parameters: JSONValue {
    get throws { try parametersText.map { text throws(JSONError) in try JSONParser.parse(text) } ?? .object([]) }
  }

  /// The fields that few jobs set, parsed with each call: keep it in a variable where several of them are read.
  public internal(set) var options: JobOptions {
    get { JobOptions(text: optionsText) }
    set { optionsText = newValue.text }
  }

  /// The tags by which people find and count the job, in the order in which its producer gave them; parsed with each
  /// call. A worker may read them, and cannot change them.
  ///
  /// ```swift
  /// for job in try context.fetch(Job.fetchRequest()) { print(job.kind, job.tags.joined(separator: ", ")) }
  /// ```
  public var tags: [String] { options.tags }

  /// URIs of the objects that the plugin names as its result; empty for none. Read it when the job has succeeded.
  ///
  /// ```swift
  /// for job in try context.fetch(Job.fetchRequest()) {
  ///   let results = job.resultURIs.compactMap(coordinator.objectID(forURI:)).map(context.object(with:))
  ///   print(job.state.name, results.count)
  /// }
  /// ```
  public var resultURIs: [String] {
    get { Self.lines(resultsText) }
    set { resultsText = Self.text(newValue) }
  }

  /// A text that a plugin leaves for people, such as a program's output; nil for none. Setting a text keeps its first
  /// ``longestOutput`` characters.
  ///
  /// ```swift
  /// let done = Job.fetchRequest()
  /// done.predicate = JobState.succeeded.predicate
  /// for job in try context.fetch(done) { print(job.output ?? "") }
  /// ```
  public var output: String? {
    get { outputText }
    set { outputText = newValue.map { String($0.prefix(Self.longestOutput)) } }
  }

  /// Characters of ``output`` that are kept.
  public static let longestOutput = 65_536

  /// What went wrong in earlier attempts, oldest first; the last ``AttemptFailure/kept`` of them. Parsed with each
  /// call. A job that succeeded keeps them.
  ///
  /// ```swift
  /// let dead = Job.fetchRequest()
  /// dead.predicate = JobState.dead.predicate
  /// for job in try context.fetch(dead) {
  ///   for failure in job.failures { print(failure.attempt, failure.type, failure.message) }
  /// }
  /// ```
  public internal(set) var failures: [AttemptFailure] {
    get { AttemptFailure.list(errorsText) }
    set { errorsText = AttemptFailure.text(newValue) }
  }

  static func lines(_ text: String?) -> [String] { text?.split(separator: "\n").map(String.init) ?? [] }

  static func text(_ lines: [String]) -> String? { lines.isEmpty ? nil : lines.joined(separator: "\n") }
}
