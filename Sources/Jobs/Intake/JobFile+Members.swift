import CoreData

extension JobFile {
  /// Every key that a job file may have, in the order of its documentation.
  public static let keys = JobField.asked.map(\.name)

  /// The job of a JSON object. Each member is read by the field of its name (`JobField.readers`), and then the job is
  /// looked at as a whole.
  static func request(_ value: JSONValue, line: Int) throws(JobFileError) -> JobRequest {
    guard case .object(let members) = value else {
      throw JobFileError(line: line, reason: "a job is a JSON object, but here is \(value.kindDescription)")
    }
    var job = JobRequest(kind: "")
    for member in members {
      guard let index = keys.firstIndex(of: member.name) else {
        let knownKeys = "known are \(keys.joined(separator: ", "))"
        let hint = Spelling.hint(to: member.name, among: keys, .quotes, otherwise: knownKeys)
        throw JobFileError(line: line, reason: "unknown key \"\(member.name)\"\(hint)")
      }
      do {
        try JobField.readers[index](member.value, &job)
      } catch {
        throw JobFileError(line: line, reason: error.description)
      }
    }
    return try checked(job, line: line)
  }

  /// Reads the lines of a file that look as most do: the members in one pass over the bytes, and the parameters as a
  /// text without its value.
  ///
  /// It takes no line that `request(_:line:)` refuses, and makes the same job of it. That function reads every line
  /// that this one does not take, and says what is wrong.
  struct PlainReader {
    private let keys = JobFile.keys
    private let readers = JobField.readers
    private let parameters = JobFile.keys.firstIndex(of: "parameters")
    private var text = JSONParser.ObjectText()

    init() {}

    /// Reads the job that comes next into a new request. False, with the parser where it was, for a line that is not
    /// taken; the request may have some fields then.
    ///
    /// The request is not returned: an optional one would be copied, and it has many fields.
    mutating func read(_ job: inout JobRequest, from parser: inout JSONParser) -> Bool {
      let start = parser.position
      do {
        if try readMembers(of: &job, from: &parser) { return true }
      } catch {
        // The error is found again, and thrown, by the one that says where it is.
      }
      parser.position = start
      return false
    }

    private mutating func readMembers(of job: inout JobRequest, from parser: inout JSONParser) throws -> Bool {
      try parser.enterObject()
      var seen: UInt64 = 0
      while let name = try parser.nextName() {
        guard let index = keys.firstIndex(of: name), seen & (1 << index) == 0 else { return false }
        seen |= 1 << index
        if index == parameters {
          guard let text = parser.plainObjectText(&text) else { return false }
          job.parameters = text
        } else {
          try readers[index](try parser.value(), &job)
        }
      }
      return !job.kind.isEmpty && JobFile.conflict(in: job) == nil
    }
  }

  /// The job, of which each member is right by itself.
  private static func checked(_ job: JobRequest, line: Int) throws(JobFileError) -> JobRequest {
    guard !job.kind.isEmpty else { throw JobFileError(line: line, reason: "\"kind\" is missing") }
    if let problem = conflict(in: job) { throw JobFileError(line: line, reason: problem) }
    return job
  }

  /// What is wrong with keys that need each other, or exclude each other. Each sentence begins with the key that a
  /// person has to take out, or to add to.
  private static func conflict(in job: JobRequest) -> String? {
    if job.uniqueKey == nil, job.uniqueBy.isEmpty {
      if job.options.uniqueFor != nil { return "\"uniqueFor\" needs \"unique\" or \"uniqueBy\"" }
      if job.uniquePeriod != nil { return "\"uniquePeriod\" needs \"uniqueBy\" or \"unique\"" }
    }
    if job.uniquePeriod != nil, job.options.uniqueFor != nil {
      return "\"uniqueFor\" and \"uniquePeriod\" exclude each other"
    }
    if job.options.limit != nil, job.limitKey == nil { return "\"limit\" needs \"limitKey\"" }
    if job.options.whenFailed != .wait, !job.options.waitsForJobs {
      return "\"whenFailed\" needs \"after\" or \"afterBatch\""
    }
    if let batch = job.batch, batch == job.options.afterBatch { return "a job cannot wait for its own batch" }
    return nil
  }
}
