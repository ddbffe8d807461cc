import CoreData

/// One field of a job: its name, how a producer asks for it, where the store keeps it, and how it is shown.
///
/// ```swift
/// for field in JobField.all where field.request != nil {
///   print(field.name, field.request?.expected ?? "", field.option?.help ?? "")
/// }
/// ```
///
/// ``all`` is the only list of a job's fields. It decides what job files may contain, what `workerpool submit` offers,
/// what goes into a row, what a periodic entry may not have, and what `workerpool jobs --json` shows.
///
/// A field is of one of four kinds, each made by a function:
///
/// ```text
/// attribute(…)   a producer asks for it, and a column of the row keeps it     kind, queue, runAt
/// options(…)     a producer asks for it, and the text of options keeps it     tags, backoff, after
/// passing(…)     a producer asks for it, and no row keeps it                  label, uniqueBy
/// written(…)     the pool and plugins write it                                crashes, output
/// ```
public struct JobField: Sendable {
  /// The name in job files and in the JSON of `workerpool jobs`.
  public let name: String
  /// The attribute of ``PoolJob`` that keeps the field; nil for one that is kept in ``JobOptions``, or not at all.
  public private(set) var attribute: String?
  /// Whether the attribute's values may be long: fetches of many jobs leave it out.
  public private(set) var isLong = false
  /// How a producer asks for the field; nil for fields that the pool and plugins write.
  public private(set) var request: Request?
  /// The field's option of `workerpool submit`; nil for fields that have none.
  public private(set) var option: Option?
  /// How the field is kept among the options of a job; nil for one that is not.
  private(set) var optionsMember: OptionsMember?
  /// The field of a job in the store as JSON; nil for one that is not shown. Called on the queue of the job's context.
  public private(set) var show: (@Sendable (PoolJob) -> JSONValue)?

  /// A field in a request: the ways in which it comes, as JSON or as text, and to which it goes.
  public struct Request: Sendable {
    /// Reads the field from the value of its member in a job file.
    let read: @Sendable (JSONValue, inout JobRequest) throws(JobFieldError) -> Void
    /// The value of the member; nil when the request leaves the field at its default.
    let write: @Sendable (JobRequest) throws(JSONError) -> JSONValue?
    /// The value for the row of a new job, which came at that time; nil when the row keeps its default.
    let column: @Sendable (JobRequest, Date) -> JobColumn?
    /// The JSON value that the text of a command-line option stands for.
    let argument: @Sendable (String) -> JSONValue
    /// What a value must be, as in "must be a whole number".
    public let expected: String
    /// Whether a periodic entry's job may have the field. A time, or a reference to other jobs, fits one job only.
    public let isForPeriodicJobs: Bool
  }

  /// A field among the options of a job, which its row keeps as one text: so a field that few jobs set needs no column.
  struct OptionsMember: Sendable {
    let read: @Sendable (JSONValue, inout JobOptions) -> Void
    let write: @Sendable (JobOptions) -> JSONValue?
  }

  /// An option of the command line. Its name is that of the field with hyphens, `max-attempts`, unless it says
  /// otherwise.
  public struct Option: Sendable {
    /// The value's placeholder in the help: `N`.
    public let value: String
    /// What the field means, in a few words.
    public let help: String
    /// The default as the help shows it; nil for none.
    public let defaultText: String?
    /// Whether the option may be repeated.
    public let isRepeating: Bool
    let name: String?

    init(_ value: String, _ help: String, default text: String? = nil, name: String? = nil, isRepeating: Bool = false) {
      self.value = value
      self.help = help
      self.defaultText = text
      self.name = name
      self.isRepeating = isRepeating
    }
  }

  /// The name of the field's option of `workerpool submit`, without the hyphens in front.
  public var optionName: String {
    option?.name ?? name.reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : String($1) }
  }

  /// Reads the field from the texts of its command-line option.
  ///
  /// ```swift
  /// var request = JobRequest(kind: "index")
  /// for field in JobField.all where field.name == "priority" { try field.read(arguments: ["5"], into: &request) }
  /// print(request.priority)  // 5
  /// ```
  ///
  /// Of an option that may not be repeated the last text counts.
  ///
  /// - Throws: ``JobFieldError``.
  public func read(arguments texts: [String], into job: inout JobRequest) throws(JobFieldError) {
    guard let request, let last = texts.last else { return }
    let isList = option?.isRepeating == true
    try request.read(isList ? .array(texts.map(request.argument)) : request.argument(last), &job)
  }

  /// Whether the request differs from the default.
  func isAsked(in job: JobRequest) -> Bool {
    // Parameters that are not JSON are asked for, too.
    do { return try request?.write(job) != nil } catch { return true }
  }
}

/// A value that a field cannot have.
public struct JobFieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, with the field's name.
  public let description: String

  init(_ description: String) { self.description = description }
}

// MARK: - Kinds of fields

extension JobField {
  /// A field that a producer asks for and an attribute of the row keeps.
  ///
  /// - Parameters:
  ///   - applies: whether the value counts for a new job, which came at that time.
  ///   - get: the field of a request; nil at its default.
  ///   - value: the field of a job in the store.
  static func attribute<Value: JobColumnValue>(
    _ name: String, _ form: JobFieldForm<Value>, attribute: String? = nil, isLong: Bool = false,
    isForPeriodicJobs: Bool = true, option: Option? = nil,
    applies: @escaping @Sendable (Value, Date) -> Bool = { _, _ in true },
    get: @escaping @Sendable (JobRequest) -> Value?, set: @escaping @Sendable (inout JobRequest, Value) -> Void,
    value: @escaping @Sendable (PoolJob) -> Value?
  ) -> JobField {
    var field = requested(
      name, form, isForPeriodicJobs: isForPeriodicJobs, option: option, get: get, set: set,
      column: { request, now in
        guard let value = get(request), applies(value, now) else { return nil }
        return value.column
      })
    field.attribute = attribute ?? name
    field.isLong = isLong
    // A value without a JSON form, such as a number that is not finite, is shown as null.
    field.show = { job in value(job).flatMap { try? form.encode($0) } ?? .null }
    return field
  }

  /// A field that a producer asks for and the options of a job keep.
  ///
  /// - Parameter show: the field of a job in the store; nil for one that is shown among the options only.
  static func options<Value>(
    _ name: String, _ form: JobFieldForm<Value>, isForPeriodicJobs: Bool = true, option: Option? = nil,
    get: @escaping @Sendable (JobOptions) -> Value?, set: @escaping @Sendable (inout JobOptions, Value) -> Void,
    show: (@Sendable (PoolJob) -> JSONValue)? = nil
  ) -> JobField {
    var field = requested(
      name, form, isForPeriodicJobs: isForPeriodicJobs, option: option, get: { get($0.options) },
      set: { set(&$0.options, $1) })
    field.optionsMember = OptionsMember(
      read: { value, options in if let value = form.decode(value) { set(&options, value) } },
      // The request was checked before: only a value without a JSON form is left out.
      write: { options in get(options).flatMap { try? form.encode($0) } })
    field.show = show
    return field
  }

  /// A field of a request that no row keeps: it is not needed once the job is in the store.
  static func passing<Value>(
    _ name: String, _ form: JobFieldForm<Value>, isForPeriodicJobs: Bool = false, option: Option? = nil,
    get: @escaping @Sendable (JobRequest) -> Value?, set: @escaping @Sendable (inout JobRequest, Value) -> Void
  ) -> JobField {
    requested(name, form, isForPeriodicJobs: isForPeriodicJobs, option: option, get: get, set: set)
  }

  /// A field that the pool and plugins write into a job's row.
  static func written(
    _ name: String, attribute: String? = nil, isLong: Bool = false, show: (@Sendable (PoolJob) -> JSONValue)?
  ) -> JobField {
    var field = JobField(name: name)
    field.attribute = attribute ?? name
    field.isLong = isLong
    field.show = show
    return field
  }

  /// The part that all fields have which producers ask for: reading, writing, the column of a new row, the option.
  private static func requested<Value>(
    _ name: String, _ form: JobFieldForm<Value>, isForPeriodicJobs: Bool, option: Option?,
    get: @escaping @Sendable (JobRequest) -> Value?, set: @escaping @Sendable (inout JobRequest, Value) -> Void,
    column: @escaping @Sendable (JobRequest, Date) -> JobColumn? = { _, _ in nil }
  ) -> JobField {
    var field = JobField(name: name)
    field.option = option
    field.request = Request(
      read: { (value, job) throws(JobFieldError) in set(&job, try form.read(value, name)) },
      write: { job throws(JSONError) in
        guard let value = get(job) else { return nil }
        return try form.encode(value)
      },
      column: column, argument: form.argument, expected: form.expected, isForPeriodicJobs: isForPeriodicJobs)
    return field
  }

  private init(name: String) { self.name = name }
}

// MARK: - Values in rows

/// An attribute of a new job's row, and its value for a job that came at a time: nil leaves the attribute's default.
///
/// A file of 100,000 jobs takes this path for each attribute of each job; so it is a function and not a look-up by
/// name.
struct NewJobAttribute: Sendable {
  let name: String
  let value: @Sendable (JobRequest, Date) -> JobColumn?

  init(_ name: String, _ value: @escaping @Sendable (JobRequest, Date) -> JobColumn?) {
    self.name = name
    self.value = value
  }
}

/// A value of a new job's row, in the type of its attribute. An `Any` would need an allocation for each value.
enum JobColumn {
  case integer(Int64)
  case double(Double)
  case string(String)
  case date(Date)

  /// Sets the attribute of a row without an object.
  func set(_ row: NewRow, at place: NewRow.Place) {
    switch self {
    case .integer(let value): row.set(value, at: place)
    case .double(let value): row.set(value, at: place)
    case .string(let value): row.set(value, at: place)
    case .date(let value): row.set(value, at: place)
    }
  }

  /// Sets the attribute with that name of an object.
  func set(_ object: NSManagedObject, _ attribute: String) {
    switch self {
    case .integer(let value): object.setValue(NSNumber(value: value), forKey: attribute)
    case .double(let value): object.setValue(NSNumber(value: value), forKey: attribute)
    case .string(let value): object.setValue(value, forKey: attribute)
    case .date(let value): object.setValue(value, forKey: attribute)
    }
  }
}

/// A field's value that an attribute keeps.
protocol JobColumnValue: Sendable {
  var column: JobColumn { get }
}

extension String: JobColumnValue {
  var column: JobColumn { .string(self) }
}

extension Int: JobColumnValue {
  var column: JobColumn { .integer(Int64(self)) }
}

extension Int16: JobColumnValue {
  var column: JobColumn { .integer(Int64(self)) }
}

extension Double: JobColumnValue {
  var column: JobColumn { .double(self) }
}

extension Date: JobColumnValue {
  var column: JobColumn { .date(self) }
}

/// Lines of a text.
extension [String]: JobColumnValue {
  var column: JobColumn { .string(joined(separator: "\n")) }
}
