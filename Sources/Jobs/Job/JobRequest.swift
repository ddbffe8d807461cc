import CoreData
import WorkerProtocol

/// What a producer asks for: one job before it is in the store.
///
/// ```swift
/// var request = JobRequest(kind: "index", objects: [book.objectID.uriString], priority: 5)
/// request.uniqueKey = "index " + book.objectID.uriString
/// request.runAt = Date() + 60
/// request.options.backoff = 5
/// ```
///
/// An app submits it with `JobQueue.submit(_:in:)` in its own save, any program with `JobSubmission` as a file, and a
/// worker with `job.submit(_:)`.
public struct JobRequest: Hashable, Sendable {
  /// Which plugin does the work: a name as ``isName(_:)`` says. A kind that no plugin runs is no error: the job waits
  /// until one does, and `workerpool status` says so.
  public var kind: String
  /// URIs of the objects that the job is about, in their order. A worker reads the objects when the job runs, so it
  /// sees their values of then. An empty array is a job about nothing in particular.
  ///
  /// ```swift
  /// let request = JobRequest(kind: "index", objects: [book.objectID.uriString])
  /// ```
  ///
  /// A new object of the context into which the job is submitted gets its permanent ID for it; the URI of any other
  /// temporary ID is refused with ``JobObjectNameError``.
  public var objects: [String]
  /// The parameters: a JSON object as text, nil for none. Keep values that may change in objects, and here what tells
  /// this job from others. `init(kind:objects:parameters:)` makes it of an `Encodable` value.
  ///
  /// ```swift
  /// struct Import: Codable { var file: String }
  /// let request = try JobRequest(kind: "import", parameters: Import(file: "/data/books.csv"))
  /// ```
  public var parameters: String?
  /// Higher runs first, from -32,768 to 32,767. Default 0. Among equals the older job comes first. A steady flow of
  /// jobs of a high priority keeps the others waiting: weights of queues share the workers instead.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "mail")
  /// request.priority = 10  // before the nightly ones, which have 0
  /// ```
  public var priority: Int16
  /// The queue that it waits in, which can be paused, limited and weighted as one. Default "default". A name is enough:
  /// queues need not be made.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "mail")
  /// request.queue = "newsletter"  // `workerpool pause newsletter` holds these jobs and no others
  /// ```
  public var queue: String
  /// Not before this time; nil, the default, is at once. The job is `scheduled` until then, and begins when a worker is
  /// free after it.
  ///
  /// ```swift
  /// var reminder = JobRequest(kind: "mail")
  /// reminder.runAt = Date() + 3 * 86_400
  /// ```
  public var runAt: Date?
  /// While a job with this key is unfinished, no second one is taken: submitting it does nothing. Default nil. Use it
  /// where the same work may be asked for several times, and see ``JobOptions/uniqueFor`` to keep the key taken for a
  /// time after that. A dead job is finished.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "index", objects: [book.objectID.uriString])
  /// request.uniqueKey = "index " + book.objectID.uriString
  /// if try Job.submit(request, into: context) == nil { print("it waits or runs already") }
  /// ```
  public var uniqueKey: String?
  /// Parts of the job in which two jobs must differ: a second one that is equal in all of them is not taken while the
  /// first is unfinished. The pool makes a key of them when the job comes; ``uniqueKey``, if set, is a part of it.
  /// Default: none.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "mail", parameters: #"{"to": "a@example.org"}"#)
  /// request.uniqueBy = [.kind, .parameters]
  /// request.uniquePeriod = 3600  // one mail to an address in each hour of the clock
  /// ```
  ///
  /// Parameters are equal if they have the same members with the same values: their order, white space and the way in
  /// which numbers are written do not count.
  public var uniqueBy: [UniquePart] = []
  /// Of equal jobs one is taken in each period of this many seconds, finished or not. Periods begin at multiples of
  /// this length since 1970 in UTC: one of 3600 is an hour of the clock, one of 86,400 a day. Default nil. It needs
  /// ``uniqueBy`` or ``uniqueKey``. ``JobOptions/uniqueFor`` counts from the arrival of a job instead, and has no
  /// effect beside a period.
  public var uniquePeriod: Double?
  /// Attempts that may throw before the job is dead; nil, the default, is the kind's own number, and 20 without one. A
  /// job file takes 1 to 1000.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "charge")
  /// request.maxAttempts = 1  // a person decides whether it is tried again
  /// ```
  public var maxAttempts: Int?
  /// Seconds that one attempt may take; nil, the default, is the kind's own time, and no limit without one. A job file
  /// takes up to 30 days.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "fetch")
  /// request.timeout = 30
  /// ```
  ///
  /// See `Worker.timeout` for what happens when it is over.
  public var timeout: Double?
  /// A name by which later requests of the same submission refer to this one in ``JobOptions/after``. Default nil. It
  /// is not kept with the job.
  ///
  /// ```swift
  /// var load = JobRequest(kind: "import")
  /// load.label = "load"
  /// var report = JobRequest(kind: "export")
  /// report.options.after = ["load"]
  /// ```
  public var label: String?
  /// On the first request of a file only: a token for the whole file. Of several files with one token the pool takes
  /// the first, and reports its jobs by the token.
  public var submission: String?
  /// The batch that it belongs to, for which a job can wait with ``JobOptions/afterBatch``. Default nil. A batch needs
  /// no making: it is all jobs that name it, of any submission.
  ///
  /// ```swift
  /// var part = JobRequest(kind: "index", objects: [book.objectID.uriString])
  /// part.batch = "nightly"
  /// var report = JobRequest(kind: "export")
  /// report.options.afterBatch = "nightly"
  /// ```
  public var batch: String?
  /// Jobs of the same key run at most ``JobOptions/limit`` at a time, in all pools that share the store: the name of a
  /// customer or of a device. Default nil: no such limit.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "export")
  /// request.limitKey = "customer 17"
  /// request.options.limit = 2
  /// ```
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

  /// The state of a job that comes at that time: pending, if it waits for others; scheduled, if its time is later.
  func firstState(at now: Date) -> JobState {
    if options.waitsForJobs { return .pending }
    return runAt.map { $0 > now } == true ? .scheduled : .available
  }

  /// One line of a job file: the object that ``JobFile`` reads back as this request. Fields at their defaults are left
  /// out.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "index", objects: [book.objectID.uriString])
  /// request.options.tags = ["nightly"]
  /// print(try request.line())  // {"kind":"index","objects":["x-coredata://…/Book/p42"],"tags":["nightly"]}
  /// ```
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
