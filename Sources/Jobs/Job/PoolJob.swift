import CoreData

/// A job, under the name that authors of plugins use.
public typealias Job = PoolJob

// Pool.xcdatamodel has the class and the attributes that are used as they are stored. This file reads the others.
extension PoolJob {
  /// The name of the entity.
  public static let entityName = "PoolJob"

  /// Jobs of a higher priority run first. Default 0. A row that another program wrote may hold any number.
  public var priority: Int16 {
    get { Int16(clamping: priorityNumber) }
    set { priorityNumber = Int64(newValue) }
  }

  /// URIs of the objects that the job is about, in their order.
  public var objectURIs: [String] {
    get { Self.lines(objectsText) }
    set { objectsText = Self.text(newValue) }
  }

  /// The parameters, parsed with each call; an empty object without any.
  ///
  /// - Throws: ``JSONError`` where an app stored a text that is not JSON.
  public var parameters: JSONValue {
    get throws { try parametersText.map { text throws(JSONError) in try JSONParser.parse(text) } ?? .object([]) }
  }

  /// The fields that few jobs set, parsed with each call.
  public internal(set) var options: JobOptions {
    get { JobOptions(text: optionsText) }
    set { optionsText = newValue.text }
  }

  /// URIs of the objects that the plugin names as its result.
  public var resultURIs: [String] {
    get { Self.lines(resultsText) }
    set { resultsText = Self.text(newValue) }
  }

  /// A text that a plugin leaves for people, such as a program's output; nil for none. Setting a text keeps its first
  /// ``longestOutput`` characters.
  public var output: String? {
    get { outputText }
    set { outputText = newValue.map { String($0.prefix(Self.longestOutput)) } }
  }

  /// Characters of ``output`` that are kept.
  public static let longestOutput = 65_536

  /// What went wrong in earlier attempts, oldest first; the last ``AttemptFailure/kept`` of them.
  public internal(set) var failures: [AttemptFailure] {
    get { AttemptFailure.list(errorsText) }
    set { errorsText = AttemptFailure.text(newValue) }
  }

  static func lines(_ text: String?) -> [String] { text?.split(separator: "\n").map(String.init) ?? [] }

  static func text(_ lines: [String]) -> String? { lines.isEmpty ? nil : lines.joined(separator: "\n") }
}
