import CoreData

/// What a job asks for beside the usual: kept as one JSON text, since few jobs ask for any of it.
public struct JobOptions: Hashable, Sendable {
  /// What becomes of a job when one that it waits for is dead or cancelled.
  public enum FailureRule: String, Sendable, CaseIterable {
    /// It goes on waiting: a person may retry the other one, or cancel or retry this one.
    case wait
    /// It is cancelled, too.
    case cancel
    /// It runs all the same.
    case run
  }

  /// Seconds for which ``JobRequest/uniqueKey`` stays taken after the job came, even if it is finished; nil: until it is finished.
  public var uniqueFor: Double?
  /// The longest wait after the first failure, in seconds; it doubles with each further one. nil is the kind's own default.
  public var backoff: Double?
  /// No wait between two attempts is longer, in seconds; nil is the kind's own default.
  public var maxBackoff: Double?
  /// How many jobs with the same ``JobRequest/limitKey`` run at a time; nil is 1.
  public var limit: Int?
  /// Jobs that must have succeeded before: their URIs, or labels of earlier requests of the same submission.
  public var after: [String] = []
  /// A batch of which every job must have succeeded before.
  public var afterBatch: String?
  public var whenFailed = FailureRule.wait

  /// The most jobs that one job can wait for by name; a batch may be larger.
  public static let mostAfter = 1000

  public init() {}

  /// Whether the job has to wait for others.
  public var waitsForJobs: Bool { !after.isEmpty || afterBatch != nil }

  /// The options as members of the job file's object.
  var members: [JSONMember] {
    var members: [JSONMember] = []
    if let uniqueFor { members.append(JSONMember("uniqueFor", .number(uniqueFor))) }
    if let backoff { members.append(JSONMember("backoff", .number(backoff))) }
    if let maxBackoff { members.append(JSONMember("maxBackoff", .number(maxBackoff))) }
    if let limit { members.append(JSONMember("limit", .number(limit))) }
    if !after.isEmpty { members.append(JSONMember("after", .array(after.map(JSONValue.string)))) }
    if let afterBatch { members.append(JSONMember("afterBatch", .string(afterBatch))) }
    if whenFailed != .wait { members.append(JSONMember("whenFailed", .string(whenFailed.rawValue))) }
    return members
  }

  /// The options as an object, with the names that they have in a job file.
  public var json: JSONValue { .object(members) }

  /// The text in the job's row; nil when nothing is asked for.
  var text: String? {
    let members = members
    return members.isEmpty ? nil : JSONValue.object(members).text
  }

  init(text: String?) {
    guard let text, let json = try? JSONParser.parse(text) else { return }
    uniqueFor = json["uniqueFor"]?.doubleValue
    backoff = json["backoff"]?.doubleValue
    maxBackoff = json["maxBackoff"]?.doubleValue
    limit = json["limit"]?.intValue
    after = json["after"]?.arrayValue?.compactMap(\.stringValue) ?? []
    afterBatch = json["afterBatch"]?.stringValue
    whenFailed = json["whenFailed"]?.stringValue.flatMap(FailureRule.init) ?? .wait
  }
}
