import Foundation
import Glibc
import Jobs

/// The pool's log: one record for each change of state. It never holds values of objects.
public struct Log: Sendable {
  private let write: @Sendable (LogRecord) -> Void
  private let finish: @Sendable () -> Void

  /// Hands each line, without a newline, to `write`, which may be called on any thread.
  public init(_ write: @escaping @Sendable (String) -> Void) {
    self.init({ write($0.text) }, finish: {})
  }

  init(_ handler: @escaping @Sendable (LogRecord) -> Void, finish: @escaping @Sendable () -> Void) {
    write = handler
    self.finish = finish
  }

  /// Hands each record to `handler`, which may be called on any thread.
  public static func records(_ handler: @escaping @Sendable (LogRecord) -> Void) -> Log {
    Log(handler, finish: {})
  }

  /// Lines for people, with the time in UTC, go to standard error.
  ///
  /// Writing never waits for a reader. Up to 4 MiB of lines wait in memory; lines beyond that are dropped and counted.
  public static let standardError = lines(to: STDERR_FILENO, format: text)

  /// JSON objects, one on each line, go to standard error, as ``standardError`` does.
  public static let jsonLines = lines(to: STDERR_FILENO, format: jsonLine)

  /// A record as a line of JSON, with the time.
  static let jsonLine: @Sendable (LogRecord) -> String = { json($0, at: now()).text }

  /// Writes to this log and to another one.
  public func and(_ other: Log) -> Log {
    Log { record in
      self(record)
      other(record)
    } finish: {
      flush()
      other.flush()
    }
  }

  /// Lines go to a descriptor, without waiting for its reader.
  static func lines(
    to descriptor: Int32, capacity: Int = LogWriter.defaultCapacity,
    format: @escaping @Sendable (LogRecord) -> String
  ) -> Log {
    let writer = LogWriter(descriptor: descriptor, capacity: capacity) { count in
      format(
        LogRecord(
          event: .linesLeftOut, text: "\(count) lines were dropped here: the reader of the log was too slow",
          fields: [.count(count)]))
    }
    return Log {
      writer.write(format($0))
    } finish: {
      writer.flush(timeout: flushTimeout)
    }
  }

  /// Seconds that a process waits at its end for a reader of its log.
  static let flushTimeout = 5.0

  /// Waits until everything is written, five seconds at most. For the end of a process.
  public func flush() { finish() }

  /// A line for people.
  static let text: @Sendable (LogRecord) -> String = { record in
    "\(now().dropFirst(11).dropLast()) \(TerminalText.escaped(record.text))"
  }

  /// Drops all records.
  public static let silent = records { _ in }

  /// Writes a record.
  public func callAsFunction(_ event: LogEvent, _ text: String, _ fields: LogField...) {
    write(LogRecord(event: event, text: text, fields: fields))
  }

  /// Writes a record.
  public func callAsFunction(_ record: LogRecord) { write(record) }

  /// Writes a record of the event `note`.
  public func callAsFunction(_ text: String) { self(.note, text) }

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
        case .error(let reason): .string(reason)
        case .userID(let number): .number(number)
        case .user(let name): .string(name)
        case .webUser(let name): .string(name)
        case .version(let version): .string(version)
        }
      members.append(JSONMember(field.name, value))
    }
    return .object(members)
  }
}
