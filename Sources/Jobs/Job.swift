import CoreData

/// A job: what it asks for, where it stands, and what came of it.
///
/// An ordinary managed object of the pool's store: an app, a worker and the coordinator all see it through Core Data. Its
/// state is changed by the functions of `Job+Transitions.swift` only.
public final class Job: NSManagedObject {
  public static let entityName = "PoolJob"

  /// Which plugin does the work.
  public var kind: String {
    get { string("kind") ?? "" }
    set { setValue(newValue, forKey: "kind") }
  }

  /// The queue that it waits in. Default "default".
  public var queue: String {
    get { string("queue") ?? JobRequest.defaultQueue }
    set { setValue(newValue, forKey: "queue") }
  }

  /// Higher runs first. Default 0.
  public var priority: Int16 {
    get { Int16(truncatingIfNeeded: integer("priority")) }
    set { setValue(NSNumber(value: newValue), forKey: "priority") }
  }

  /// URIs of the objects that the job is about, in their order.
  public var objectURIs: [String] {
    get { lines("objects") }
    set { setLines(newValue, "objects") }
  }

  /// The parameters as the producer wrote them: the text of a JSON object, nil for none.
  public var parametersText: String? {
    get { string("parameters") }
    set { setValue(newValue, forKey: "parameters") }
  }

  /// The parameters, read anew with each call; an empty object without any.
  ///
  /// - Throws: ``JSONError`` where an app stored a text that is not JSON.
  public var parameters: JSONValue {
    get throws { try parametersText.map { text throws(JSONError) in try JSONParser.parse(text) } ?? .object([]) }
  }

  /// While an unfinished job has this key, no second one is taken.
  public internal(set) var uniqueKey: String? {
    get { string("uniqueKey") }
    set { setValue(newValue, forKey: "uniqueKey") }
  }

  /// Attempts that may throw before the job is dead; nil is the kind's own default.
  public var maxAttempts: Int? {
    get { number("maxAttempts")?.intValue }
    set { setValue(newValue.map { NSNumber(value: Int16(clamping: $0)) }, forKey: "maxAttempts") }
  }

  /// Seconds that one attempt may take; nil is the kind's own default.
  public var timeout: Double? {
    get { number("timeout")?.doubleValue }
    set { setValue(newValue.map(NSNumber.init(value:)), forKey: "timeout") }
  }

  /// The batch that it belongs to; nil for none.
  public internal(set) var batch: String? {
    get { string("batch") }
    set { setValue(newValue, forKey: "batch") }
  }

  /// Jobs of the same key run a few at a time; nil: as many as the kind allows.
  public internal(set) var limitKey: String? {
    get { string("limitKey") }
    set { setValue(newValue, forKey: "limitKey") }
  }

  /// What the job asks for beside the usual, read anew with each call.
  public internal(set) var options: JobOptions {
    get { JobOptions(text: string("options")) }
    set { setValue(newValue.text, forKey: "options") }
  }

  /// ``uniqueKey`` as long as no other job can have it, which the store enforces.
  var activeKey: String? {
    get { string("activeKey") }
    set { setValue(newValue, forKey: "activeKey") }
  }

  // MARK: Where it stands

  /// Where the job stands in the store; a job that runs is `available` here; the pool's ledger lists who runs it.
  public internal(set) var state: JobState {
    get { JobState(rawValue: Int16(truncatingIfNeeded: integer("state"))) ?? .dead }
    set { setValue(NSNumber(value: newValue.rawValue), forKey: "state") }
  }

  /// The time that a scheduled or retryable job waits for; nil in all other states.
  public internal(set) var runAt: Date? {
    get { date("runAt") }
    set { setValue(newValue, forKey: "runAt") }
  }

  /// Attempts that ended, by success or by an error. Crashes are counted apart.
  public internal(set) var attempt: Int {
    get { integer("attempt") }
    set { setValue(NSNumber(value: Int16(clamping: newValue)), forKey: "attempt") }
  }

  /// How often a worker died of the job.
  public internal(set) var crashes: Int {
    get { integer("crashes") }
    set { setValue(NSNumber(value: Int16(clamping: newValue)), forKey: "crashes") }
  }

  /// How much of ``progressTotal`` is done, as the plugin counts.
  public var progressDone: Int64 {
    get { number("progressDone")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "progressDone") }
  }

  /// How much there is to do, as the plugin counts; 0 while that is not known.
  public var progressTotal: Int64 {
    get { number("progressTotal")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "progressTotal") }
  }

  /// What a plugin saved together with a part of its work: the next attempt goes on from there.
  public var checkpoint: Data? {
    get { value(forKey: "checkpoint") as? Data }
    set { setValue(newValue, forKey: "checkpoint") }
  }

  /// URIs of the objects that the plugin names as its result.
  public var resultURIs: [String] {
    get { lines("results") }
    set { setLines(newValue, "results") }
  }

  /// What a plugin leaves to be read by people beside the objects that it changed, such as a program's output: bounded text.
  public var output: String? {
    get { string("output") }
    set { setValue(newValue.map { String($0.prefix(Self.longestOutput)) }, forKey: "output") }
  }

  /// Characters of ``output`` that are kept.
  public static let longestOutput = 65_536

  /// When the job came into the store.
  public internal(set) var createdAt: Date {
    get { date("createdAt") ?? .distantPast }
    set { setValue(newValue, forKey: "createdAt") }
  }

  /// When the attempt that ended last had begun; nil before the first has ended.
  public internal(set) var startedAt: Date? {
    get { date("startedAt") }
    set { setValue(newValue, forKey: "startedAt") }
  }

  /// When the job reached a state that it does not leave by itself.
  public internal(set) var finishedAt: Date? {
    get { date("finishedAt") }
    set { setValue(newValue, forKey: "finishedAt") }
  }

  /// What went wrong in earlier attempts, oldest first; the last ``AttemptFailure/kept`` of them.
  public internal(set) var failures: [AttemptFailure] {
    get { AttemptFailure.list(string("errors")) }
    set { setValue(AttemptFailure.text(newValue), forKey: "errors") }
  }

  /// A request for all jobs.
  public class func fetchRequest() -> NSFetchRequest<Job> { NSFetchRequest<Job>(entityName: entityName) }
}

extension NSManagedObject {
  func string(_ key: String) -> String? { value(forKey: key) as? String }
  func date(_ key: String) -> Date? { value(forKey: key) as? Date }
  func number(_ key: String) -> NSNumber? { value(forKey: key) as? NSNumber }
  func integer(_ key: String) -> Int { number(key)?.intValue ?? 0 }

  fileprivate func lines(_ key: String) -> [String] {
    string(key)?.split(separator: "\n").map(String.init) ?? []
  }

  fileprivate func setLines(_ lines: [String], _ key: String) {
    setValue(lines.isEmpty ? nil : lines.joined(separator: "\n"), forKey: key)
  }
}
