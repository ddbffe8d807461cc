import CoreData
import WorkerProtocol

/// What a producer asks for: one job before it is in the store.
public struct JobRequest: Hashable, Sendable {
  /// Which plugin does the work.
  public var kind: String
  /// URIs of the objects that the job is about, in their order.
  public var objects: [String]
  /// The parameters: a JSON object as text, nil for none.
  public var parameters: String?
  /// Higher runs first. Default 0.
  public var priority: Int16
  /// The queue that it waits in, which can be paused as one. Default "default".
  public var queue: String
  /// Not before this time; nil is at once.
  public var runAt: Date?
  /// While a job with this key is unfinished, no second one is taken.
  public var uniqueKey: String?
  /// Attempts that may throw; nil is the kind's own default.
  public var maxAttempts: Int?
  /// Seconds that one attempt may take; nil is the kind's own default.
  public var timeout: Double?
  /// A name by which later requests of the same submission refer to this one in ``JobOptions/after``.
  public var label: String?
  /// On the first request of a file only: a token for the whole file. Of several files with one token the pool takes
  /// the first, and reports its jobs by the token.
  public var submission: String?
  /// The batch that it belongs to, for which a job can wait with ``JobOptions/afterBatch``.
  public var batch: String?
  /// Jobs of the same key run at most ``JobOptions/limit`` at a time.
  public var limitKey: String?
  /// The fields that few jobs set.
  public var options = JobOptions()

  /// The queue of jobs that name none.
  public static let defaultQueue = "default"

  /// Whether the word can be the name of a kind or a queue: 1 to 100 letters, digits, `.`, `_` and `-`, all ASCII.
  public static func isName(_ word: String) -> Bool { isProtocolName(word, atMost: ProtocolLimit.jobNameBytes) }

  /// A request for a job of this kind. Fields that are left out are at their defaults.
  public init(
    kind: String, objects: [String] = [], parameters: String? = nil, priority: Int16 = 0,
    queue: String = JobRequest.defaultQueue, runAt: Date? = nil, uniqueKey: String? = nil, maxAttempts: Int? = nil,
    timeout: Double? = nil
  ) {
    self.kind = kind
    self.objects = objects
    self.parameters = parameters
    self.priority = priority
    self.queue = queue
    self.runAt = runAt
    self.uniqueKey = uniqueKey
    self.maxAttempts = maxAttempts
    self.timeout = timeout
  }

  /// The state of a job that comes at that time.
  func firstState(at now: Date) -> JobState {
    if options.waitsForJobs { return .pending }
    return runAt.map { $0 > now } == true ? .scheduled : .available
  }

  /// One line of a job file: the object that ``JobFile`` reads back as this request.
  ///
  /// - Throws: ``JSONError`` when the parameters are not JSON.
  public func line() throws(JSONError) -> String {
    var members: [JSONMember] = []
    for field in JobField.asked {
      if let value = try field.request?.write(self) { members.append(JSONMember(field.name, value)) }
    }
    return JSONValue.object(members).text
  }
}
