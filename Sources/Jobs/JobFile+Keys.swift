import CoreData
import WorkerProtocol

extension JobFile {
  /// Every key that a job file may have, in the order of its documentation.
  public static let keys = [
    "kind", "objects", "parameters", "priority", "queue", "runAt", "unique", "uniqueFor", "maxAttempts", "backoff",
    "maxBackoff", "timeout", "limitKey", "limit", "label", "after", "batch", "afterBatch", "whenFailed", "submission",
  ]

  /// One job out of its JSON object.
  static func request(_ value: JSONValue, line: Int) throws(JobFileError) -> JobRequest {
    guard case .object(let members) = value else {
      throw JobFileError(line: line, reason: "a job is a JSON object, but here is \(value.kindDescription)")
    }
    var job = JobRequest(kind: "")
    for member in members {
      do {
        try apply(member, to: &job)
      } catch {
        throw JobFileError(line: line, reason: error.text)
      }
    }
    guard !job.kind.isEmpty else { throw JobFileError(line: line, reason: "\"kind\" is missing") }
    if let problem = conflict(in: job) { throw JobFileError(line: line, reason: problem) }
    return job
  }

  /// What is wrong with keys that make sense together only.
  private static func conflict(in job: JobRequest) -> String? {
    if job.options.uniqueFor != nil, job.uniqueKey == nil { return "\"uniqueFor\" needs \"unique\"" }
    if job.options.limit != nil, job.limitKey == nil { return "\"limit\" needs \"limitKey\"" }
    if job.options.whenFailed != .wait, !job.options.waitsForJobs {
      return "\"whenFailed\" needs \"after\" or \"afterBatch\""
    }
    if let batch = job.batch, batch == job.options.afterBatch { return "a job cannot wait for its own batch" }
    return nil
  }

  private static func apply(_ member: JSONMember, to job: inout JobRequest) throws(Reason) {
    let value = member.value
    switch member.name {
    case "kind": job.kind = try name(value, "kind")
    case "objects": job.objects = try objects(value)
    case "parameters":
      guard case .object = value else { throw Reason("parameters", "a JSON object", value) }
      job.parameters = value.text
    case "priority": job.priority = Int16(try int(value, "priority", Int(Int16.min)...Int(Int16.max)))
    case "queue": job.queue = try name(value, "queue")
    case "runAt":
      guard let text = value.stringValue, let date = Timestamp.date(text) else {
        throw Reason("runAt", "a time such as \"2026-01-01T00:00:00Z\"", value)
      }
      job.runAt = date
    case "unique": job.uniqueKey = try text(value, "unique")
    case "uniqueFor": job.options.uniqueFor = try seconds(value, "uniqueFor", atMost: maximumPeriod)
    case "maxAttempts": job.maxAttempts = try int(value, "maxAttempts", 1...1000)
    case "backoff": job.options.backoff = try seconds(value, "backoff", atMost: maximumTimeout)
    case "maxBackoff": job.options.maxBackoff = try seconds(value, "maxBackoff", atMost: maximumTimeout)
    case "timeout": job.timeout = try seconds(value, "timeout", atMost: maximumTimeout)
    case "limitKey": job.limitKey = try text(value, "limitKey")
    case "limit": job.options.limit = try int(value, "limit", 1...10_000)
    case "label": job.label = try name(value, "label")
    case "submission": job.submission = try name(value, "submission")
    case "after": job.options.after = try after(value)
    case "batch": job.batch = try text(value, "batch")
    case "afterBatch": job.options.afterBatch = try text(value, "afterBatch")
    case "whenFailed":
      guard let rule = value.stringValue.flatMap(JobOptions.FailureRule.init) else {
        throw Reason("whenFailed", "\"wait\", \"cancel\" or \"run\"", value)
      }
      job.options.whenFailed = rule
    default:
      let hint = Spelling.nearest(to: member.name, among: keys).map { "; did you mean \"\($0)\"?" }
      throw Reason(text: "unknown key \"\(member.name)\"\(hint ?? "; known are \(keys.joined(separator: ", "))")")
    }
  }

  private static let maximumTimeout = 30.0 * 86_400
  private static let maximumPeriod = 366.0 * 86_400

  private static func seconds(_ value: JSONValue, _ key: String, atMost maximum: Double) throws(Reason) -> Double {
    guard let seconds = value.doubleValue, seconds > 0, seconds <= maximum else {
      throw Reason(key, "a number of seconds above 0 and at most \(Int(maximum))", value)
    }
    return seconds
  }

  private static func after(_ value: JSONValue) throws(Reason) -> [String] {
    let expected = "an array of job URIs, or of labels of earlier lines"
    guard let elements = value.arrayValue else { throw Reason("after", expected, value) }
    guard elements.count <= JobOptions.mostAfter else {
      throw Reason(text: "\"after\" names more than \(JobOptions.mostAfter) jobs; give them a \"batch\" instead")
    }
    var names: [String] = []
    for (index, element) in elements.enumerated() {
      guard let name = element.stringValue, ObjectURI(name) != nil || isName(name) else {
        throw Reason(text: "\"after\" must be \(expected); element \(index + 1) is neither")
      }
      names.append(name)
    }
    return names
  }

  /// Whether the word can be the name of a kind or a queue: 1 to 100 letters, digits, `.`, `_` and `-`, all ASCII.
  public static func isName(_ word: String) -> Bool { isProtocolName(word, atMost: ProtocolLimit.jobNameBytes) }

  private static func name(_ value: JSONValue, _ key: String) throws(Reason) -> String {
    guard let word = value.stringValue, isName(word) else {
      throw Reason(key, "a name of 1 to 100 letters, digits, \".\", \"_\" and \"-\"", value)
    }
    return word
  }

  private static func text(_ value: JSONValue, _ key: String) throws(Reason) -> String {
    guard let text = value.stringValue, (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 }) else {
      throw Reason(key, "a string of 1 to 255 bytes without control characters", value)
    }
    return text
  }

  private static func int(_ value: JSONValue, _ key: String, _ range: ClosedRange<Int>) throws(Reason) -> Int {
    guard let number = value.intValue, range.contains(number) else {
      throw Reason(key, "a whole number from \(range.lowerBound) to \(range.upperBound)", value)
    }
    return number
  }

  private static func objects(_ value: JSONValue) throws(Reason) -> [String] {
    let expected = "an array of object URIs such as \"x-coredata://STORE/Document/p42\""
    guard let elements = value.arrayValue else { throw Reason("objects", expected, value) }
    var uris: [String] = []
    uris.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      guard let uri = element.stringValue, ObjectURI(uri) != nil else {
        throw Reason(text: "\"objects\" must be \(expected); element \(index + 1) is none")
      }
      uris.append(uri)
    }
    return uris
  }
}

/// What is wrong with a member, before its line is known.
private struct Reason: Error {
  let text: String

  init(text: String) { self.text = text }

  init(_ key: String, _ expected: String, _ found: JSONValue) {
    text = "\"\(key)\" must be \(expected); here it is \(found.kindDescription)"
  }
}
