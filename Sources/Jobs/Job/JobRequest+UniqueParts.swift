import CoreData
import Foundation
import ModelFiles

/// A part of a job in which jobs differ from each other.
///
/// ```swift
/// var request = JobRequest(kind: "index", objects: [book.objectID.uriString])
/// request.uniqueBy = [.kind, .objects]
/// ```
public enum UniquePart: String, Sendable, CaseIterable {
  /// ``JobRequest/kind``.
  case kind
  /// ``JobRequest/queue``.
  case queue
  /// ``JobRequest/objects``, in their order.
  case objects
  /// ``JobRequest/parameters``, as values.
  case parameters
}

extension JobRequest {
  /// Whether the row gets a unique key that is made of parts.
  var hasUniqueParts: Bool { !uniqueBy.isEmpty || uniquePeriod != nil && uniqueKey != nil }

  /// The same request with its unique parts and period as a plain unique key: the store knows nothing else.
  ///
  /// ```text
  /// uniqueBy: [kind, objects]         the key "by kind,objects: 9f86d081884c7d65…"
  /// unique: "nightly"                 with uniquePeriod 3600: "by unique,period: …", another one in each hour
  /// ```
  ///
  /// A period begins at a round time since 1970, the same for all producers, and not at the first job. The key is
  /// reserved until its end, also by a job that has finished earlier (`uniqueFor`).
  ///
  /// - Parameters:
  ///   - now: when the job comes.
  ///   - context: the context of new objects that the request names.
  /// - Throws: ``JobObjectNameError``; ``JSONError`` for parameters that are not JSON.
  func keyed(at now: Date, in context: NSManagedObjectContext) throws -> JobRequest {
    guard hasUniqueParts else { return self }
    var request = self
    if uniqueBy.contains(.objects) { request.objects = try permanentObjects(in: context) }
    request.uniqueBy = []
    request.uniquePeriod = nil
    var members = [JSONMember("unique", .optional(uniqueKey))]
    // In the order of the cases: the order in which a producer lists them does not count.
    for part in UniquePart.allCases where uniqueBy.contains(part) {
      members.append(JSONMember(part.rawValue, try request.value(of: part)))
    }
    if let uniquePeriod {
      let start = (now.timeIntervalSince1970 / uniquePeriod).rounded(.down) * uniquePeriod
      members.append(JSONMember("period", .array([.number(uniquePeriod), .number(start)])))
      // A key of an earlier period may stay reserved a moment longer: requests have the key of their own period.
      request.options.uniqueFor = max(start + uniquePeriod - now.timeIntervalSince1970, 0.001)
    }
    request.uniqueKey = Self.key(of: members)
    return request
  }

  /// The value of a part, as it goes into the hash. Parameters are compared as values: `{"a":1,"b":2}` and
  /// `{"b":2.0,"a":1}` are the same.
  private func value(of part: UniquePart) throws -> JSONValue {
    switch part {
    case .kind: .string(kind)
    case .queue: .string(queue)
    case .objects: .array(objects.map(JSONValue.string))
    case .parameters:
      try parameters.map { text throws(JSONError) in try JSONParser.parse(text).canonical } ?? .object([])
    }
  }

  /// The names of the parts, for people, and a hash of their values, which may be long. The text stays as it is in all
  /// versions: a store has keys of earlier ones.
  private static func key(of members: [JSONMember]) -> String {
    var bytes: [UInt8] = []
    JSONValue.object(members).write(to: &bytes)
    let names = members.filter { $0.value != .null }.map(\.name).joined(separator: ",")
    let hash = SHA256.hash(bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "by \(names): \(hash)"
  }
}

extension JSONValue {
  /// The value in the one form that all values equal to it have: members by name, numbers as their digits without the
  /// zeros at both ends, with a power of ten if there is one. Numbers are compared exactly, and not as doubles: jobs
  /// about 0.1 and 0.10000000000000000001 are two.
  var canonical: JSONValue {
    switch self {
    case .object(let members):
      .object(
        members.map { JSONMember($0.name, $0.value.canonical) }
          .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    case .array(let elements): .array(elements.map(\.canonical))
    case .number(let text): .number(Self.canonicalNumber(text))
    case .null, .bool, .string: self
    }
  }

  /// The one text of a number's value: its digits without the zeros at both ends, with a power of ten if there is one.
  ///
  /// ```text
  /// 1.50      15e-1        100       100
  /// 0.10      1e-1         1e2       100
  /// -0.0      0            1e30      1e30
  /// ```
  private static func canonicalNumber(_ text: String) -> String {
    let parts = text.split(whereSeparator: { $0 == "e" || $0 == "E" })
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".")
    let fraction = mantissa.count > 1 ? mantissa[1] : ""
    var digits = (mantissa[0] + fraction).drop { $0 == "0" }
    if digits.isEmpty { return "0" }
    // An exponent beyond 32 bits stays as it is.
    guard let written = parts.count > 1 ? Int32(parts[1]) : 0 else { return text }
    var exponent = Int(written) - fraction.count
    while digits.last == "0" {
      digits.removeLast()
      exponent += 1
    }
    let sign = text.hasPrefix("-") ? "-" : ""
    // Whole numbers stay as most people write them.
    if (0...18).contains(exponent) { return sign + digits + String(repeating: "0", count: exponent) }
    return "\(sign)\(digits)e\(exponent)"
  }
}
