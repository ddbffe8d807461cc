import Foundation
import Glibc
import Jobs

/// Where the pool says what it does: one line for each thing. Values of objects never come here.
public struct Log: Sendable {
  private let write: @Sendable (LogRecord) -> Void

  /// Hands each line, without a newline, to `write`, which may be called on any thread.
  public init(_ write: @escaping @Sendable (String) -> Void) {
    self.write = { write($0.text) }
  }

  private init(handler: @escaping @Sendable (LogRecord) -> Void) { write = handler }

  /// Hands each record to `handler`, which may be called on any thread.
  public static func records(_ handler: @escaping @Sendable (LogRecord) -> Void) -> Log { Log(handler: handler) }

  /// Lines for people, with the time in UTC, go to standard error, each in one write.
  public static let standardError = records { record in
    writeLine("\(now().dropFirst(11).dropLast()) \(TerminalText.escaped(record.text))")
  }

  /// JSON objects, one on each line, go to standard error, each in one write.
  public static let jsonLines = records { writeLine(json($0, at: now()).text) }

  /// Says nothing.
  public static let silent = records { _ in }

  /// Writes a record.
  public func callAsFunction(_ event: LogEvent, _ text: String, _ fields: LogField...) {
    write(LogRecord(event: event, text: text, fields: fields))
  }

  /// Writes a record.
  public func callAsFunction(_ record: LogRecord) { write(record) }

  /// Writes a line that is no change of state.
  public func callAsFunction(_ text: String) { self(.note, text) }

  private static func writeLine(_ line: String) {
    var text = line + "\n"
    text.withUTF8 { _ = Glibc.write(2, $0.baseAddress, $0.count) }
  }

  /// The time in UTC, RFC 3339, always with milliseconds.
  private static func now() -> String {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let second = Timestamp.text(Date(timeIntervalSince1970: Double(now.tv_sec)))
    return "\(second.dropLast()).\(String(now.tv_nsec / 1_000_000 + 1000).dropFirst())Z"
  }

  /// A record as JSON: `time`, `level`, `event`, `message`, and what it is about.
  static func json(_ record: LogRecord, at time: String) -> JSONValue {
    var members = [
      JSONMember("time", .string(time)), JSONMember("level", .string(record.event.level.rawValue)),
      JSONMember("event", .string(record.event.rawValue)), JSONMember("message", .string(record.text)),
    ]
    for field in record.fields {
      let value: JSONValue =
        switch field {
        case .pid(let pid): .number(pid)
        case .worker(let number): .number(number)
        case .plugin(let name): .string(name)
        case .jobs(let uris): .array(uris.map(JSONValue.string))
        case .path(let path): .string(path)
        case .count(let count): .number(count)
        }
      members.append(JSONMember(field.name, value))
    }
    return .object(members)
  }
}
