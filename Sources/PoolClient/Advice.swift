import Jobs

/// A sentence for people, with the commands that it advises as values: its reader decides how they are written.
///
/// ```swift
/// import PoolClient
///
/// let advice: Advice = "the queue \("mail") is paused"
/// print(advice.text(for: AdviceReader(queue: "queue/")))
/// ```
///
/// `StatusAdvice`, ``JobObstacle/sentence`` and ``JobStory`` make such sentences. The text depends on the reader,
/// because a command for another queue directory needs `--queue`. Values in a sentence are written as they are: escape
/// texts from a store with ``TerminalText/escaped(_:)`` before they go to a terminal.
///
/// Immutable; any thread.
public struct Advice: Hashable, Sendable {
  fileprivate enum Part: Hashable, Sendable {
    case text(String)
    case command(AdvisedCommand)
  }

  fileprivate var parts: [Part]

  /// A sentence without a command.
  public init(_ sentence: String) { parts = [.text(sentence)] }

  /// The sentence with its commands as the reader types them.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "other/").request(StatusRequest(.status)).status {
  ///   for line in StatusAdvice.lines(status, for: AdviceReader(queue: "other/")) { print(line) }
  /// }
  /// ```
  ///
  /// A command in it can be copied into a shell: each argument is quoted where the shell needs it.
  public func text(for reader: AdviceReader) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .command(let command): reader.text(of: command)
      }
    }.joined()
  }

  static func + (one: Advice, other: Advice) -> Advice {
    var both = one
    both.parts += other.parts
    return both
  }
}

extension Advice: ExpressibleByStringInterpolation {
  /// Takes texts, commands and other advice.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    /// Made by the compiler.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    /// Adds a part of the sentence.
    public mutating func appendLiteral(_ literal: String) { parts.append(.text(literal)) }

    /// Adds a value's text.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      parts.append(.text(value.description))
    }

    /// Adds a command, which is written for a reader when the text is made.
    public mutating func appendInterpolation(_ command: AdvisedCommand) { parts.append(.command(command)) }

    /// Adds another sentence with its commands.
    public mutating func appendInterpolation(_ advice: Advice) { parts += advice.parts }
  }

  /// A sentence without a command.
  public init(stringLiteral sentence: String) { self.init(sentence) }

  /// A sentence of several parts.
  public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }
}

/// A command that advice names: a program and its arguments, not yet quoted.
///
/// A client that has buttons instead of a shell, such as a web page, compares it with the commands that it offers.
/// Texts for people are made by ``AdviceReader/text(of:)``.
public struct AdvisedCommand: Hashable, Sendable {
  fileprivate let program: String
  fileprivate let arguments: [String]

  init(_ program: String, _ arguments: String...) {
    self.program = program
    self.arguments = arguments
  }

  /// A command of `workerpool` that asks a pool.
  package static func workerpool(_ command: String, _ arguments: String...) -> AdvisedCommand {
    AdvisedCommand([command] + arguments)
  }

  package static var resumeAll: AdvisedCommand { .workerpool("resume", "--all") }
  package static func resume(queue: String) -> AdvisedCommand { .workerpool("resume", queue) }
  package static func resume(kind: String) -> AdvisedCommand { .workerpool("resume", "--kind", kind) }
  package static func retry(_ job: String) -> AdvisedCommand { .workerpool("retry", job) }
  package static func cancel(_ job: String) -> AdvisedCommand { .workerpool("cancel", job) }

  private init(_ arguments: [String]) {
    program = "workerpool"
    self.arguments = arguments
  }
}

/// For whom commands are written: for a person who named the queue directory, they name it, too.
///
/// ```swift
/// import PoolClient
///
/// let reply = try StatusClient(queue: "other/").request(StatusRequest(.explain, jobs: ["x-coredata://A/PoolJob/p17"]))
/// if let remedy = reply.obstacle?.remedy {
///   print(AdviceReader.plain.text(of: remedy))  // workerpool resume mail
///   print(AdviceReader(queue: "other/").text(of: remedy))  // workerpool resume --queue other/ mail
/// }
/// ```
///
/// Without the queue directory, the commands mean the one named `queue` in the reader's directory: give it when the
/// reader did.
public struct AdviceReader: Sendable {
  /// Types commands that find the pool by themselves.
  public static let plain = AdviceReader(queue: nil)

  private let queue: String?

  /// - Parameter queue: the queue directory that the reader named; nil for the one that is meant without a name.
  public init(queue: String?) { self.queue = queue }

  /// The command, quoted for a shell.
  public func text(of command: AdvisedCommand) -> String {
    var arguments = command.arguments
    if let queue, command.program == "workerpool" { arguments.insert(contentsOf: ["--queue", queue], at: 1) }
    return ([command.program] + arguments.map(ShellWord.quoted)).joined(separator: " ")
  }
}
