import CoreData

/// What one save of a job did to one object of the app.
///
/// ```text
/// from the pool's store      all of it, with values
/// from the app's history     `what`, `object` and the properties of updates; no values, so it cannot be undone
/// ```
package struct ObjectChange: Hashable, Sendable {
  package enum What: String, Sendable {
    case inserted, updated, deleted
  }

  package let what: What
  /// The object's URI.
  package let object: String
  /// The names of an update's properties, sorted; empty otherwise, or where they are not known.
  package let properties: [String]
  /// What the properties were before an update or a deletion.
  package var before: [String: JSONValue] = [:]
  /// What the properties were after an insertion or an update.
  package var after: [String: JSONValue] = [:]
  /// Properties whose values are not kept.
  package var unkept: [String] = []

  package init(_ what: What, _ object: String, properties: [String] = []) {
    self.what = what
    self.object = object
    self.properties = properties
  }

  /// One line for people, without values: `updated x-coredata://…/Book/p2: isRead, pages`.
  package var text: String {
    "\(what.rawValue) \(object)" + (properties.isEmpty ? "" : ": \(properties.joined(separator: ", "))")
  }

  /// For programs, without values.
  package var json: JSONValue {
    var members = [JSONMember("change", .string(what.rawValue)), JSONMember("object", .string(object))]
    if what == .updated { members.append(JSONMember("properties", .array(properties.map(JSONValue.string)))) }
    return .object(members)
  }
}

/// The changes of one save of a job.
///
/// ```text
/// {"attempt":1,"date":817551705.25,"changes":[{"change":"updated","object":"x-coredata://A/Book/p2",
///  "properties":["pages"],"before":{"pages":474},"after":{"pages":475}}]}
/// ```
package struct JobSave: Hashable, Sendable {
  /// The number of the attempt, from 1.
  package let attempt: Int
  /// When the save began.
  package let date: Date
  package let changes: [ObjectChange]
  /// Other jobs that were saved in the same transaction: the changes are of all of them.
  package var others: [String] = []
  /// Why changes were not kept, with their number where they were too large; nil if all are kept.
  package var omission: String?

  package init(attempt: Int, date: Date, changes: [ObjectChange], omission: String? = nil) {
    self.attempt = attempt
    self.date = date
    self.changes = changes
    self.omission = omission
  }
}

// MARK: The text in the store

extension JobSave {
  /// The most bytes that a save's text may have. It is written by the save itself, whose transaction would grow with
  /// it.
  static let longestText = 16 << 20

  /// The text in the store. Too long a text says only how many changes there were.
  package var text: String {
    let text = json(with: changes.map(\.keptJSON)).text
    guard text.utf8.count > Self.longestText else { return text }
    let reason = "\(changes.count) changes, with values of more than \(Self.longestText >> 20) MiB, were not kept"
    return JobSave(attempt: attempt, date: date, changes: [], omission: reason).text
  }

  private func json(with changes: [JSONValue]) -> JSONValue {
    .object(
      [
        JSONMember("attempt", .number(attempt)),
        JSONMember("date", .number("\(date.timeIntervalSinceReferenceDate)")),
        JSONMember("changes", .array(changes)),
      ] + (omission.map { [JSONMember("omission", .string($0))] } ?? []))
  }

  /// Reads ``text``; nil for another text, and if one of its changes cannot be read: the others alone must not be
  /// undone.
  package init?(text: String) {
    // Only `text` writes them: a text that cannot be read is one of a later version.
    guard let json = try? JSONParser.parse(text), let attempt = json["attempt"]?.intValue,
      let seconds = json["date"]?.doubleValue, let array = json["changes"]?.arrayValue
    else { return nil }
    let changes = array.compactMap(ObjectChange.init(kept:))
    guard changes.count == array.count else { return nil }
    self.init(
      attempt: attempt, date: Date(timeIntervalSinceReferenceDate: seconds), changes: changes,
      omission: json["omission"]?.stringValue)
  }
}

extension ObjectChange {
  /// The change as it is kept. Members without content are left out: most updates change one property.
  fileprivate var keptJSON: JSONValue {
    func members(of values: [String: JSONValue]) -> JSONValue {
      .object(values.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    }
    var kept = [
      JSONMember("change", .string(what.rawValue)), JSONMember("object", .string(object)),
      JSONMember("properties", .array(properties.map(JSONValue.string))),
    ]
    if !before.isEmpty { kept.append(JSONMember("before", members(of: before))) }
    if !after.isEmpty { kept.append(JSONMember("after", members(of: after))) }
    if !unkept.isEmpty { kept.append(JSONMember("unkept", .array(unkept.map(JSONValue.string)))) }
    return .object(kept)
  }

  /// A change that was kept; nil for one that this version cannot read.
  fileprivate init?(kept json: JSONValue) {
    guard let what = json["change"]?.stringValue.flatMap(What.init), let object = json["object"]?.stringValue else {
      return nil
    }
    func strings(_ name: String) -> [String] { json[name]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    func values(_ name: String) -> [String: JSONValue] {
      Dictionary((json[name]?.objectValue ?? []).map { ($0.name, $0.value) }) { first, _ in first }
    }
    self.init(what, object, properties: strings("properties"))
    before = values("before")
    after = values("after")
    unkept = strings("unkept")
  }
}
