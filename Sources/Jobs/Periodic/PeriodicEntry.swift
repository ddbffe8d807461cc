import CoreData

/// A job that the pool submits again and again: one file of `queue/periodic/`.
///
/// ```text
/// {"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "catchUp": "last", "job": {"kind": "report"}}
/// ```
///
/// ```swift
/// let entry = PeriodicEntry(name: "nightly", cron: try CronExpression("@daily"), job: JobRequest(kind: "report"))
/// print(entry.next(after: Date())?.description ?? "never")
/// ```
///
/// The pool notes the last time of each entry in the store, so an entry runs once at each time, no matter which
/// pools run, and how often they are killed. `PeriodicReport` of PoolClient reads the files for a person.
public struct PeriodicEntry: Hashable, Sendable {
  /// What happens with times that passed while no pool ran: see ``PeriodicEntry/due(after:at:)``.
  public enum CatchUp: String, Sendable, CaseIterable {
    /// They are left out.
    case none
    /// One job for all of them.
    case last
    /// A job for each, but for no more than ``PeriodicEntry/mostCaughtUp``.
    case all
  }

  /// The name of its file, without the ending.
  public let name: String
  /// The times at which a job is submitted.
  public let cron: CronExpression
  /// Default: UTC.
  public let timeZone: TimeZone
  /// Default: `last`.
  public let catchUp: CatchUp
  /// The job that is submitted.
  public let job: JobRequest

  /// How many missed times have a job of their own at most: the last ones.
  public static let mostCaughtUp = 1000
  /// How many seconds a job may be late: a time that passed longer ago was missed.
  public static let tolerance = 60.0
  /// The largest file that is read, in bytes.
  public static let maximumSize = 1 << 20

  /// The part of an entry that begins it again when it changes: its times, not its job.
  public var definition: String { "\(cron.text) \(timeZone.identifier)" }

  /// An entry with this name.
  public init(
    name: String, cron: CronExpression, timeZone: TimeZone = .gmt, catchUp: CatchUp = .last, job: JobRequest
  ) {
    self.name = name
    self.cron = cron
    self.timeZone = timeZone
    self.catchUp = catchUp
    self.job = job
  }

  /// Reads an entry's file.
  ///
  /// ```swift
  /// let text = #"{"cron": "0 3 * * *", "job": {"kind": "report"}}"#
  /// let entry = try PeriodicEntry(name: "nightly", contents: Array(text.utf8))
  /// print(entry.cron.text, entry.job.kind)
  /// ```
  ///
  /// Strict, as a job file is: unknown keys, and fields that fit one job only (`runAt`, `after`, `submission`), are
  /// errors.
  ///
  /// - Throws: ``PeriodicEntryError``.
  public init(name: String, contents bytes: [UInt8]) throws(PeriodicEntryError) {
    do {
      var parser = JSONParser(bytes)
      var fields = try JSONFields(try parser.value(), named: "the keys of a periodic entry")
      let expression = try fields.requiredString("cron")
      let zoneName = try fields.string("timeZone") ?? "UTC"
      let catchUp = try fields.choice("catchUp", CatchUp.self) ?? .last
      let job = fields.value("job")
      try fields.finish()
      guard parser.isAtEnd else { throw JSONFieldError("there is more than one JSON object") }
      guard let job else { throw JSONFieldError("\"job\" is missing") }
      guard let zone = TimeZone(identifier: zoneName) else {
        throw JSONFieldError("\"timeZone\" is \"\(zoneName)\", which is not a time zone such as \"Europe/Berlin\"")
      }
      let request = try JobFile.request(job, line: 1)
      if let field = JobField.asked.first(where: { $0.request?.isForPeriodicJobs == false && $0.isAsked(in: request) })
      {
        throw JSONFieldError("the job of a periodic entry cannot have \"\(field.name)\"")
      }
      self.init(name: name, cron: try CronExpression(expression), timeZone: zone, catchUp: catchUp, job: request)
    } catch let error as CronError {
      throw PeriodicEntryError(name: name, reason: "\"cron\" \(error)")
    } catch let error as JobFileError {
      throw PeriodicEntryError(name: name, reason: "\"job\": \(error.reason)")
    } catch {
      throw PeriodicEntryError(name: name, reason: "\(error)")
    }
  }

  /// The times after `last` up to `now` that get a job, oldest first.
  ///
  /// ```text
  /// cron 0 * * * *, last 01:00, now 04:10        none   nothing: 04:00 is ten minutes old, the tolerance is one
  ///                                              last   04:00
  ///                                              all    02:00, 03:00, 04:00
  /// ```
  public func due(after last: Date, at now: Date) -> [Date] {
    let most = catchUp == .all ? Self.mostCaughtUp : 1
    // Only the last times count, so longer and longer stretches before now are searched until they have enough.
    for stretch: Double in [3600, 86_400, 3_456_000, .infinity] {
      let start = max(last, now - stretch)
      let times = Array(
        sequence(state: start) { time in
          guard let next = cron.next(after: time, in: timeZone), next <= now else { return Date?.none }
          time = next
          return next
        }.suffix(most))
      guard times.count == most || start == last else { continue }
      return catchUp == .none ? times.filter { $0 >= now - Self.tolerance } : times
    }
    return []
  }

  /// The first time after `date`.
  public func next(after date: Date) -> Date? { cron.next(after: date, in: timeZone) }
}

/// What is wrong with the file of a periodic entry.
public struct PeriodicEntryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the entry.
  public let name: String
  /// What is wrong with its file.
  public let reason: String

  /// The path of the file in the queue directory, and the reason.
  public var description: String { "periodic/\(name).json: \(reason)" }
}
