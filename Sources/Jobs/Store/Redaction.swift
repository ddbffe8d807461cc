import CoreData

/// The names of parameters and of members of outputs whose values are not shown to people.
///
/// ```swift
/// let redaction = Redaction(["password", "token"])
/// print(redaction.names.contains("password"))
/// ```
///
/// The pool's option `--redact` writes them into the store, where every reader finds them: the commands, the web pages,
/// and an app that uses ``JobField/show``. Workers get the values as before.
///
/// ```text
/// {"to": "a@example.org", "smtp": {"Password": "x"}}     {"to":"a@example.org","smtp":{"Password":"[redacted]"}}
/// {"to": "a@example.org", "smtp": {"Passw                cut off, and has the name: [redacted]
/// plain text with a password                             stays: it has no members
/// ```
public struct Redaction: Hashable, Sendable {
  /// The names, in small letters: a name hides members of any spelling in capitals and small letters.
  public let names: Set<String>

  /// What stands in place of a value.
  public static let mark = "[redacted]"

  /// Hides the values of members with these names, at any depth. `parameters` and `output` hide all of either.
  public init(_ names: some Sequence<String> = [String]()) { self.names = Set(names.map { $0.lowercased() }) }

  /// The value as it is shown.
  func shown(_ value: JSONValue) -> JSONValue {
    guard !names.isEmpty else { return value }
    switch value {
    case .object(let members):
      return .object(
        members.map { JSONMember($0.name, isHidden($0.name) ? .string(Self.mark) : shown($0.value)) })
    case .array(let elements): return .array(elements.map(shown))
    // A program's output is such a text, and may be JSON.
    case .string(let text): return .string(shown(text, of: nil))
    default: return value
    }
  }

  /// The text as it is shown. Other texts than JSON stay as they are. Nothing is shown of one that begins like JSON and
  /// has one of the names, but cannot be read, for example because its end was cut off.
  ///
  /// - Parameter field: the name of the field that has the text; nil inside of one.
  func shown(_ text: String, of field: String?) -> String {
    guard !names.isEmpty else { return text }
    if let field, isHidden(field) { return Self.mark }
    guard let first = text.first(where: { !$0.isWhitespace }), "{[".contains(first) else { return text }
    do throws(JSONError) {
      let value = try JSONParser.parse(text)
      let shown = shown(value)
      // What has nothing to hide keeps its spaces.
      return shown == value ? text : shown.text
    } catch {
      let lowercase = text.lowercased()
      return names.contains(where: lowercase.contains) ? Self.mark : text
    }
  }

  private func isHidden(_ name: String) -> Bool { names.contains(name.lowercased()) }
}

extension PoolJob {
  /// The parameters as people are shown them: without the values that the pool's `--redact` hides. Nil for a job
  /// without parameters.
  ///
  /// ```swift
  /// for job in try context.fetch(Job.fetchRequest()) { print(job.kind, job.shownParameters ?? "") }
  /// ```
  public var shownParameters: String? { shown(parametersText, of: "parameters") }

  /// The output as people are shown it: without the values that the pool's `--redact` hides. Nil for a job without one.
  public var shownOutput: String? { shown(output, of: "output") }

  private func shown(_ text: String?, of field: String) -> String? {
    guard let text, let context = managedObjectContext else { return text }
    do {
      return try context.redaction().shown(text, of: field)
    } catch {
      // Without the names it is not known what may be shown.
      return Redaction.mark
    }
  }
}

extension NSManagedObjectContext {
  private static let redactionKey = "workerpool.redaction"
  static let redactionSetting = "redacted"

  /// What people are not shown, as the store says. It is read once, and again after ``forgetRedaction()``.
  package func redaction() throws -> Redaction {
    if let known = userInfo[Self.redactionKey] as? Redaction { return known }
    let names = try PoolSetting.find(Self.redactionSetting, in: self)?.value?.split(separator: "\n").map(String.init)
    let redaction = Redaction(names ?? [])
    userInfo[Self.redactionKey] = redaction
    return redaction
  }

  /// The next reader asks the store again: another pool may have begun since.
  package func forgetRedaction() { userInfo.removeObject(forKey: Self.redactionKey) }
}

extension JobStore {
  /// Sets what people are not shown, without saving.
  ///
  /// - Throws: what a fetch throws.
  public func setRedaction(_ redaction: Redaction, in context: NSManagedObjectContext) throws {
    context.forgetRedaction()
    guard try context.redaction() != redaction else { return }
    context.forgetRedaction()
    try PoolSetting.set(
      NSManagedObjectContext.redactionSetting, redaction.names.sorted().joined(separator: "\n"), in: context)
  }
}
