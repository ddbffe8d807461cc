import CoreData

/// The form of a field's values: how they are read from JSON and from the command line, and how they are written.
///
/// ```text
/// job file        {"priority": 5}     decode ──▶ 5 ──▶ problem: none
/// command line    --priority 5        argument ──▶ JSON 5 ──▶ the same
/// row, list       5                   encode ──▶ JSON 5
/// ```
///
/// Reading has two steps, since a row may have a value that no job file may: `decode` takes all values of the right
/// type, and `problem` refuses those beyond the limits, with a sentence.
struct JobFieldForm<Value: Sendable>: Sendable {
  /// What a value must be, as in "must be a whole number from 1 to 10".
  let expected: String
  /// The value of the JSON, also one beyond the limits, which another program may have put into a row; nil for JSON of
  /// another type.
  let decode: @Sendable (JSONValue) -> Value?
  let encode: @Sendable (Value) throws(JSONError) -> JSONValue
  /// What is wrong with a value of the right type; nil for nothing, and an empty text where ``expected`` says it all.
  fileprivate let problem: @Sendable (JSONValue, Value) -> String?
  /// The JSON of a text on the command line.
  let argument: @Sendable (String) -> JSONValue

  init(
    _ expected: String, decode: @escaping @Sendable (JSONValue) -> Value?,
    encode: @escaping @Sendable (Value) throws(JSONError) -> JSONValue,
    problem: @escaping @Sendable (JSONValue, Value) -> String?,
    argument: @escaping @Sendable (String) -> JSONValue = { .string($0) }
  ) {
    self.expected = expected
    self.decode = decode
    self.encode = encode
    self.problem = problem
    self.argument = argument
  }

  /// The value of a member of a job file.
  ///
  /// ```text
  /// "priority" must be a whole number from -32768 to 32767; here it is a string
  /// "tags" must be an array of tags, …; it has a tag twice
  /// "after" must be an array of job URIs, or of labels of earlier lines; element 2 is neither
  /// ```
  ///
  /// - Throws: ``JobFieldError`` that names the member and says what it must be.
  func read(_ json: JSONValue, _ name: String) throws(JobFieldError) -> Value {
    guard let value = decode(json) else { throw wrong(json, name, "") }
    if let problem = problem(json, value) { throw wrong(json, name, problem) }
    return value
  }

  private func wrong(_ json: JSONValue, _ name: String, _ problem: String) -> JobFieldError {
    JobFieldError(
      "\"\(name)\" must be \(expected); \(problem.isEmpty ? "here it is \(json.kindDescription)" : problem)")
  }
}

// MARK: - Texts

extension JobFieldForm<String> {
  /// A text for which one condition decides. The error says what is expected, and not the text, which may be secret.
  private static func string(
    _ expected: String, where isAllowed: @escaping @Sendable (String) -> Bool
  ) -> JobFieldForm {
    JobFieldForm(expected, decode: { $0.stringValue }, encode: { .string($0) }, problem: { isAllowed($1) ? nil : "" })
  }

  /// The name of a kind or a queue. The error shows it: names are no secrets.
  static var name: JobFieldForm {
    JobFieldForm(
      "a name of 1 to 100 letters, digits, \".\", \"_\" and \"-\"", decode: { $0.stringValue }, encode: { .string($0) },
      problem: { JobRequest.isName($1) ? nil : "here it is \"\($1.prefix(longestShown))\"" })
  }

  /// Characters of a wrong name that an error shows.
  private static var longestShown: Int { 100 }

  /// A short text, such as a unique key: it stands in indexes, whose rows a server limits.
  static var text: JobFieldForm {
    string("a string of 1 to 255 bytes without control characters") { text in
      (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 }
    }
  }

  /// A JSON object, kept as its text: a worker gets the numbers in the digits in which the producer wrote them.
  static var object: JobFieldForm {
    JobFieldForm(
      "a JSON object", decode: { if case .object = $0 { $0.text } else { nil } },
      encode: { text throws(JSONError) in try JSONParser.parse(text) }, problem: { _, _ in nil })
  }
}

extension JobFieldForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of a type's words. They are the raw values of its cases, so a new case is a new word everywhere.
  static func word(of type: Value.Type) -> JobFieldForm {
    let words = Value.allCases.map { "\"\($0.rawValue)\"" }
    let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    return JobFieldForm(
      expected, decode: { $0.stringValue.flatMap(Value.init) }, encode: { .string($0.rawValue) },
      problem: { _, _ in nil })
  }
}

extension JobFieldForm {
  /// Some of a type's words; with commas between them on the command line: `--unique-by kind,objects`.
  static func words<Word: RawRepresentable & CaseIterable & Sendable>(of type: Word.Type) -> JobFieldForm
  where Value == [Word], Word.RawValue == String {
    let words = Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    return JobFieldForm(
      "an array of some of \(words)",
      decode: { json in json.arrayValue?.compactMap { $0.stringValue.flatMap(Word.init) } },
      encode: { .array($0.map { .string($0.rawValue) }) },
      problem: { json, parts in
        let elements = json.arrayValue ?? []
        if elements.isEmpty { return "it is empty" }
        let stranger = elements.firstIndex { $0.stringValue.flatMap(Word.init) == nil }
        return stranger.map { "element \($0 + 1) is none of them" }
      },
      argument: { text in
        .array(text.split(separator: ",", omittingEmptySubsequences: false).map { .string(String($0)) })
      })
  }
}

extension JobFieldForm<Date> {
  /// A point in time, as ``Timestamp`` reads it.
  static var time: JobFieldForm {
    JobFieldForm(
      "a time such as \"2026-01-01T00:00:00Z\"", decode: { $0.stringValue.flatMap(Timestamp.date) },
      encode: { .string(Timestamp.text($0)) }, problem: { _, _ in nil })
  }
}

// MARK: - Numbers

/// The number that a text on the command line is; other texts stay strings, which no number's form takes.
@Sendable private func number(_ text: String) -> JSONValue {
  Int(text).map { .number($0) } ?? Double(text).map { .number($0) } ?? .string(text)
}

extension JobFieldForm<Int> {
  /// A whole number within these limits. `5.0` is one, too; `5.5` is not.
  static func int(_ range: ClosedRange<Int>) -> JobFieldForm {
    JobFieldForm(
      "a whole number from \(range.lowerBound) to \(range.upperBound)", decode: { $0.intValue },
      encode: { .number($0) }, problem: { range.contains($1) ? nil : "here it is \($1)" }, argument: number)
  }
}

extension JobFieldForm<Int16> {
  /// A whole number of 16 bits, the width of the attribute.
  static var int16: JobFieldForm {
    JobFieldForm(
      "a whole number from \(Int16.min) to \(Int16.max)", decode: { $0.intValue.flatMap(Int16.init(exactly:)) },
      encode: { .number($0) }, problem: { _, _ in nil }, argument: number)
  }
}

extension JobFieldForm<Double> {
  /// A length of time. 0 is refused: a timeout of 0 would end each attempt at once, and a backoff of 0 would repeat the
  /// job without a pause.
  static func seconds(atMost maximum: Double) -> JobFieldForm {
    JobFieldForm(
      "a number of seconds above 0 and at most \(Int(maximum))", decode: { $0.doubleValue }, encode: { .number($0) },
      problem: { $1 > 0 && $1 <= maximum ? nil : "here it is \($0.text)" }, argument: number)
  }
}

// MARK: - Lists

extension JobFieldForm<[String]> {
  /// A list of texts, each of which fulfils a condition. The error names the first that does not by its number, from 1.
  private static func list(
    _ expected: String, _ isUnsuitable: String, where isElement: @escaping @Sendable (String) -> Bool,
    atMost maximum: Int = .max, otherwise hint: String = ""
  ) -> JobFieldForm {
    JobFieldForm(
      expected, decode: { $0.arrayValue?.compactMap(\.stringValue) }, encode: { .array($0.map(JSONValue.string)) },
      problem: { json, _ in
        let elements = json.arrayValue ?? []
        guard elements.count <= maximum else { return "it has more than \(maximum) elements; \(hint)" }
        let stranger = elements.firstIndex { !($0.stringValue.map(isElement) ?? false) }
        return stranger.map { "element \($0 + 1) is \(isUnsuitable)" }
      })
  }

  /// URIs of objects. The objects need not exist: a job may be submitted before its object is saved.
  static var objects: JobFieldForm {
    list("an array of object URIs such as \"x-coredata://STORE/Document/p42\"", "none") { ObjectURI($0) != nil }
  }

  /// Tags of a job, each once.
  static var tags: JobFieldForm {
    let form = list(
      "an array of tags, each 1 to 100 bytes without control characters, commas, quotation marks and backslashes",
      "none", where: JobOptions.isTag, atMost: JobOptions.mostTags, otherwise: "keep the rest in its parameters")
    return JobFieldForm(
      form.expected, decode: form.decode, encode: form.encode,
      problem: { json, tags in
        form.problem(json, tags) ?? (Set(tags).count < tags.count ? "it has a tag twice" : nil)
      })
  }

  /// Jobs that must succeed before this one: by their URIs, or by labels of earlier lines of the same file.
  static var jobs: JobFieldForm {
    list(
      "an array of job URIs, or of labels of earlier lines", "neither",
      where: { ObjectURI($0) != nil || JobRequest.isName($0) }, atMost: JobOptions.mostAfter,
      otherwise: "give the jobs a \"batch\" instead")
  }
}
