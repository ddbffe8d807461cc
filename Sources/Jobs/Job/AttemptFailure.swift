import CoreData

/// The error of one attempt, with the facts that a person needs to act on. No values of objects.
///
/// ```swift
/// for job in try context.fetch(Job.fetchRequest()) {
///   if let last = job.failures.last { print(job.kind, last.type, last.message, last.host, last.pid) }
/// }
/// ```
public struct AttemptFailure: Hashable, Sendable {
  /// The attempt's number, from 1; crashes count here, too.
  public var attempt: Int
  /// When the attempt failed.
  public var date: Date
  /// The type of the error, or "crash".
  public var type: String
  /// What a person needs to know, in at most ``longestText`` characters.
  public var message: String
  /// The host on which the attempt ran; empty where that is not known.
  public var host: String
  /// The worker's process ID; 0 where that is not known.
  public var pid: Int32
  /// The signal that ended the worker, if one did.
  public var signal: Int32?
  /// The last lines that the worker wrote to standard error before it died.
  public var standardError: [String]
  /// Where the worker's threads were when the attempt was ended for taking too long, a line for each function; empty
  /// for other failures, and where the worker did not tell. A job keeps the stack of its last such failure.
  public var stack: [String] = []

  /// How many failures a job keeps: the last ones.
  public static let kept = 10
  /// Characters of the message that are kept, and of each line of standard error.
  public static let longestText = 2000
  /// Bytes of the stack that are kept.
  public static let longestStack = 16_384

  /// A failure of an attempt.
  ///
  /// ```swift
  /// let failure = AttemptFailure(
  ///   attempt: 2, date: Date(), type: "HTTPError", message: "the server answered 503", host: "one", pid: getpid())
  /// print(failure.json.text)
  /// ```
  ///
  /// Texts that are too long are cut when it is kept, and not here. Leave values of objects out of the message: it is
  /// shown to people, and kept as long as the job.
  public init(
    attempt: Int, date: Date, type: String, message: String, host: String = "", pid: Int32 = 0, signal: Int32? = nil,
    standardError: [String] = []
  ) {
    self.attempt = attempt
    self.date = date
    self.type = type
    self.message = message
    self.host = host
    self.pid = pid
    self.signal = signal
    self.standardError = standardError
  }

  /// The failure without the ends of texts that are too long to be kept: a worker may write megabytes before it dies,
  /// and each job that is shown would carry them along.
  var bounded: AttemptFailure {
    var failure = self
    failure.message = String(message.prefix(Self.longestText))
    failure.standardError = standardError.suffix(Self.kept).map { String($0.prefix(Self.longestText)) }
    var size = 0
    failure.stack = stack.map { String($0.prefix(Self.longestText)) }.prefix {
      size += $0.utf8.count + 1
      return size <= Self.longestStack
    }
    return failure
  }

  /// The failure as `workerpool jobs --json` shows it.
  public var json: JSONValue {
    var members = [
      JSONMember("attempt", .number(attempt)), JSONMember("date", .string(Timestamp.text(date))),
      JSONMember("type", .string(type)), JSONMember("message", .string(message)), JSONMember("host", .string(host)),
      JSONMember("pid", .number(pid)),
    ]
    if let signal { members.append(JSONMember("signal", .number(signal))) }
    if !standardError.isEmpty {
      members.append(JSONMember("stderr", .array(standardError.map(JSONValue.string))))
    }
    if !stack.isEmpty { members.append(JSONMember("stack", .array(stack.map(JSONValue.string)))) }
    return .object(members)
  }

  /// The lines of standard error that do not stand in the message already.
  package var standardErrorBesideMessage: [String] {
    let lines = standardError.filter { !$0.isEmpty }
    return !lines.isEmpty && lines.allSatisfy(message.contains) ? [] : standardError
  }

  /// A failure that was written by ``text(_:)``, or by a worker in another language. Only the type is needed.
  private init?(_ json: JSONValue) {
    guard let type = json["type"]?.stringValue else { return nil }
    self.init(
      attempt: json["attempt"]?.intValue ?? 0,
      date: json["date"]?.stringValue.flatMap(Timestamp.date) ?? .distantPast,
      type: type, message: json["message"]?.stringValue ?? "", host: json["host"]?.stringValue ?? "",
      pid: Int32(clamping: json["pid"]?.intValue ?? 0),
      signal: json["signal"]?.intValue.map { Int32(clamping: $0) },
      standardError: json["stderr"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    stack = json["stack"]?.arrayValue?.compactMap(\.stringValue) ?? []
  }

  /// The failures in a job's row; none for a text that is not JSON.
  static func list(_ text: String?) -> [AttemptFailure] {
    // Workers in other languages write this column: a text that is not JSON has no failures to show.
    guard let text, let json = try? JSONParser.parse(text) else { return [] }
    return json.arrayValue?.compactMap(AttemptFailure.init) ?? []
  }

  /// The text in a job's row: an array of the last ten failures, of which only the last one with a stack keeps it.
  ///
  /// ```text
  /// [{"attempt":1,"date":"2026-01-01T00:00:00Z","type":"HTTPError","message":"503 after 1.5 s","host":"a","pid":4711}]
  /// ```
  static func text(_ failures: [AttemptFailure]) -> String? {
    guard !failures.isEmpty else { return nil }
    var failures = Array(failures.suffix(kept))
    // Stacks are long, and one of them shows where the job hangs.
    if let last = failures.lastIndex(where: { !$0.stack.isEmpty }) {
      for index in failures[..<last].indices { failures[index].stack = [] }
    }
    return JSONValue.array(failures.map(\.json)).text
  }
}
