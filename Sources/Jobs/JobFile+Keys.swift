import CoreData

extension JobFile {
  /// Every key that a job file may have, in the order of its documentation.
  public static let keys = [
    "kind", "objects", "parameters", "priority", "queue", "runAt", "unique", "maxAttempts", "timeout",
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
    return job
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
    case "unique": job.uniqueKey = try uniqueKey(value)
    case "maxAttempts": job.maxAttempts = try int(value, "maxAttempts", 1...1000)
    case "timeout":
      guard let seconds = value.doubleValue, seconds > 0, seconds <= maximumTimeout else {
        throw Reason("timeout", "a number of seconds above 0 and at most \(Int(maximumTimeout))", value)
      }
      job.timeout = seconds
    default:
      let hint = Spelling.nearest(to: member.name, among: keys).map { "; did you mean \"\($0)\"?" }
      throw Reason(text: "unknown key \"\(member.name)\"\(hint ?? "; known are \(keys.joined(separator: ", "))")")
    }
  }

  private static let maximumTimeout = 30.0 * 86_400

  /// Whether the word can be the name of a kind or a queue: 1 to 100 letters, digits, `.`, `_` and `-`, all ASCII.
  public static func isName(_ word: String) -> Bool {
    (1...100).contains(word.utf8.count)
      && word.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  private static func name(_ value: JSONValue, _ key: String) throws(Reason) -> String {
    guard let word = value.stringValue, isName(word) else {
      throw Reason(key, "a name of 1 to 100 letters, digits, \".\", \"_\" and \"-\"", value)
    }
    return word
  }

  private static func uniqueKey(_ value: JSONValue) throws(Reason) -> String {
    guard let key = value.stringValue, (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ $0 >= 0x20 }) else {
      throw Reason("unique", "a string of 1 to 255 bytes without control characters", value)
    }
    return key
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
      guard let uri = element.stringValue, isObjectURI(uri) else {
        throw Reason(text: "\"objects\" must be \(expected); element \(index + 1) is none")
      }
      uris.append(uri)
    }
    return uris
  }

  /// Whether the text has the form of a saved object's URI: `x-coredata://STORE/ENTITY/pNUMBER`.
  public static func isObjectURI(_ text: String) -> Bool {
    let prefix = "x-coredata://"
    guard text.hasPrefix(prefix) else { return false }
    let parts = text.utf8.dropFirst(prefix.utf8.count).split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[2].first == UInt8(ascii: "p") else {
      return false
    }
    let number = parts[2].dropFirst()
    return (1...19).contains(number.count)
      && number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
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
