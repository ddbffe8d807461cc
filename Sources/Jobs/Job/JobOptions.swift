import CoreData

/// The fields that few jobs set. A row keeps them as one JSON text.
///
/// ```swift
/// var load = JobRequest(kind: "import")
/// load.label = "load"
/// var report = JobRequest(kind: "export")
/// report.options.after = ["load"]
/// report.options.whenFailed = .cancel
/// try Job.submit(load, into: context)
/// ```
public struct JobOptions: Hashable, Sendable {
  /// What becomes of a job when one that it waits for is dead or cancelled.
  public enum FailureRule: String, Sendable, CaseIterable {
    /// It goes on waiting: a person may retry the other one, or cancel or retry this one.
    case wait
    /// It is cancelled, too.
    case cancel
    /// It runs anyway.
    case run
  }

  /// Seconds for which ``JobRequest/uniqueKey`` stays taken after the job came, even if it is finished; nil, the
  /// default: until it is finished. Use it to do a thing at most once an hour: 3600. A job file takes up to 366 days.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "report")
  /// request.uniqueKey = "report"
  /// request.options.uniqueFor = 3600  // at most one an hour
  /// ```
  public var uniqueFor: Double?
  /// The wait after the first failure, in seconds, up to a fifth shorter or longer; it doubles with each further one.
  /// nil, the default, is the kind's own, and 15 without one. A job file takes up to 30 days.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "fetch")
  /// request.options.backoff = 1
  /// request.options.maxBackoff = 60
  /// ```
  public var backoff: Double?
  /// No wait between two attempts is longer, in seconds, but for the fifth by which each varies; nil, the default, is
  /// the kind's own, and a day without one. A job file takes up to 30 days.
  public var maxBackoff: Double?
  /// How many jobs with the same ``JobRequest/limitKey`` run at a time; nil, the default, is the kind's own number, and
  /// 1 without one. Without a limit key it has no effect. A job file takes 1 to 10,000.
  public var limit: Int?
  /// Jobs that must have succeeded before: their URIs, or labels of earlier requests of the same submission. At most
  /// ``mostAfter``. Default: none. What happens when one of them is dead or cancelled is ``whenFailed``.
  public var after: [String] = []
  /// A batch of which every job must have succeeded before; nil, the default, for none. A job that waits for a batch
  /// without jobs waits for its first one.
  public var afterBatch: String?
  /// What becomes of the job when one that it waits for is dead or cancelled. Default ``FailureRule/wait``.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "export")
  /// request.options.after = ["x-coredata://A/PoolJob/p17"]
  /// request.options.whenFailed = .run
  /// ```
  public var whenFailed = FailureRule.wait

  /// Short texts by which people find and count the job: a customer, a release, a campaign. At most ``mostTags``, each
  /// once, as ``isTag(_:)`` says. Default: none. They change nothing about when the job runs.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "export")
  /// request.options.tags = ["customer:17", "spring sale"]  // `workerpool jobs --tag customer:17` lists it
  /// ```
  public var tags: [String] = []

  /// The most tags of a job.
  public static let mostTags = 16

  /// Whether the text can be a tag: 1 to 100 bytes without control characters, commas, quotation marks and backslashes.
  ///
  /// ```swift
  /// print(JobOptions.isTag("customer:17"), JobOptions.isTag("a,b"))  // true false
  /// ```
  ///
  /// So a tag needs no escape in JSON, and a row can be searched for it as it stands.
  public static func isTag(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { scalar in
        let properties = scalar.properties
        return properties.generalCategory != .control && !properties.isBidiControl
          && !"\",\\".unicodeScalars.contains(scalar)
      }
  }

  /// Matches jobs with the tag; ones with any tag for nil. There is no index of tags: it looks at each job that other
  /// conditions leave.
  package static func predicate(tag: String?) -> NSPredicate {
    guard let tag else { return NSPredicate(format: "options CONTAINS %@", #""tags":["#) }
    // A tag has no character that JSON escapes, and no comma. So only an element of an array stands so between its
    // neighbours, and the other arrays of the options have URIs.
    let quoted = "\"\(tag)\""
    let forms = ["[\(quoted)]", "[\(quoted),", ",\(quoted),", ",\(quoted)]"].map {
      NSPredicate(format: "options CONTAINS %@", $0)
    }
    return NSCompoundPredicate(
      andPredicateWithSubpredicates: [
        NSPredicate(format: "options CONTAINS %@", quoted), NSCompoundPredicate(orPredicateWithSubpredicates: forms),
      ])
  }

  /// The most jobs that one job can wait for by name; a batch may be larger.
  public static let mostAfter = 1000

  /// No option is set.
  public init() {}

  /// Whether the job has to wait for others.
  public var waitsForJobs: Bool { !after.isEmpty || afterBatch != nil }

  /// The options as an object, with the names that they have in a job file; an empty one when nothing is asked for.
  ///
  /// ```swift
  /// var options = JobOptions()
  /// options.backoff = 5
  /// options.tags = ["nightly"]
  /// print(options.json.text)  // {"backoff":5,"tags":["nightly"]}
  /// ```
  public var json: JSONValue {
    .object(Self.fields.compactMap { name, member in member.write(self).map { JSONMember(name, $0) } })
  }

  /// The text in the job's row; nil when nothing is asked for, as for most jobs: then the row has no byte for it.
  var text: String? { self == JobOptions() ? nil : json.text }

  /// Reads the text of a job's row. Members that do not exist, or are of another type, are passed over.
  init(text: String?) {
    // Programs without this package write this column, too: a text that is not JSON sets no option.
    guard let text, let members = (try? JSONParser.parse(text))?.objectValue else { return }
    for member in members { Self.fieldsByName[member.name]?.read(member.value, &self) }
  }

  private static let fields = JobField.asked.compactMap { field in field.optionsMember.map { (field.name, $0) } }
  private static let fieldsByName = Dictionary(uniqueKeysWithValues: fields)
}
