import Foundation
import Jobs
import LinuxSystem
import PoolClient
import WorkerPool
import WorkerProtocol

/// Finds the command, reads its arguments, runs it, and turns the result into a message and an exit code.
struct CommandLineTool {
  let commands: [CommandDescription]
  /// What the bundled workers do, which people try as commands.
  private static let bundledKinds: Set = ["import", "export", "index", "exec", "maintain"]

  func run(_ arguments: [String]) -> ExitCode {
    guard let name = arguments.first else {
      Output.error(Help.overview(commands))
      return .usage
    }
    if ["--help", "-h", "help"].contains(name) { return help(arguments.dropFirst().first) }
    if ["--version", "version"].contains(name) {
      Output.line("workerpool \(Release.text)")
      return .success
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      let hint =
        Self.bundledKinds.contains(name)
        ? ": \(name) is a kind of job: workerpool submit \(name)"
        : Spelling.hint(to: name, among: commands.map(\.name), otherwise: "`workerpool --help` lists them")
      Output.error("workerpool has no command \(name)\(hint)\n")
      return .usage
    }
    do {
      let parsed = try ParsedArguments(Array(arguments.dropFirst()), for: command)
      if parsed.wantsHelp { return help(name) }
      return try command.run(parsed)
    } catch let error as UsageError {
      Output.error("\(error)\n`workerpool \(name) --help` explains the arguments.\n")
      return .usage
    } catch let error as NoPoolError {
      Output.error("workerpool \(name): \(error)\n")
      return .notRunning
    } catch let failure as StatusClient.Failure {
      Output.error("workerpool \(name): \(failure)\n")
      if case .notRunning = failure { return .notRunning }
      return .failure
    } catch let error as Pool.StartError {
      Output.error("workerpool \(name): \(error)\n")
      switch error {
      case .storeIsLocked: return .storeIsLocked
      case .storeIsReadOnly, .modelDoesNotFit: return .storeIsUnfit
      case .noPlugins: return .nothingToStart
      default: return .failure
      }
    } catch {
      Output.error("workerpool \(name): \(ErrorText.text(error))\n")
      return .failure
    }
  }

  private func help(_ name: String?) -> ExitCode {
    guard let name, let command = commands.first(where: { $0.name == name }) else {
      Output.text(Help.overview(commands))
      return .success
    }
    Output.text(Help.text(for: command))
    return .success
  }
}

/// Writes to standard output and standard error.
enum Output {
  static func line(_ text: String) { self.text(text + "\n") }

  /// Ends the process when the output has no reader any more.
  static func text(_ text: String) {
    if !textIfRead(text) { exit(ExitCode.failure.rawValue) }
  }

  /// False when the output has no reader any more.
  @discardableResult
  static func textIfRead(_ text: String) -> Bool {
    // The error is the answer.
    (try? text.utf8.writeAll(to: STDOUT_FILENO, path: "standard output")) != nil
  }

  /// Text from outside may be in it, and is escaped.
  static func error(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let layout = TextLayout(columns: isatty(STDERR_FILENO) == 1 ? terminalSize.columns : nil, hasColours: false)
    let escaped = lines.flatMap { layout.wrapped(TerminalText.escaped(String($0)), indentation: 2) }
      .joined(separator: "\n")
    // Standard error is where an error would be told.
    try? escaped.utf8.writeAll(to: STDERR_FILENO, path: "standard error")
  }

  /// Writes text to standard error that may have sequences that a terminal obeys.
  static func errorAsItIs(_ text: String) {
    try? text.utf8.writeAll(to: STDERR_FILENO, path: "standard error")
  }

  /// Whether standard output is a terminal.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Whether this descriptor is a terminal whose lines can be written over. One without a type, or of the type `dumb`,
  /// such as an editor's, shows control sequences as text.
  static func canBeDrawnOver(_ descriptor: Int32 = STDOUT_FILENO) -> Bool { isatty(descriptor) == 1 && !isDumb }

  private static var isDumb: Bool { ["", "dumb"].contains(ProcessInfo.processInfo.environment["TERM"] ?? "") }

  /// The terminal's size now; one that does not know its own counts as 24 rows of 80 columns.
  static var terminalSize: (rows: Int, columns: Int) {
    var size = winsize()
    // Standard output may be a file while errors go to a terminal.
    guard [STDOUT_FILENO, STDERR_FILENO].contains(where: { ioctl($0, UInt(TIOCGWINSZ), &size) == 0 }) else {
      return (24, 80)
    }
    return (size.ws_row > 0 ? Int(size.ws_row) : 24, size.ws_col > 0 ? Int(size.ws_col) : 80)
  }

  /// How text for people is laid out on standard output: in the width of a terminal, with colours unless `NO_COLOR` is
  /// set (no-color.org) or the terminal has none.
  static var layout: TextLayout {
    guard isTerminal else { return .file }
    let isPlain = isDumb || ProcessInfo.processInfo.environment["NO_COLOR"]?.isEmpty == false
    return TextLayout(columns: terminalSize.columns, hasColours: !isPlain)
  }
}

/// Options that several commands share.
enum CommonOptions {
  /// Only the pool of this host.
  static let local = CommandOption(
    name: "local", help: "only the pool of this queue directory, not the others that share the store")
  static let queue = CommandOption(
    name: "queue", value: "DIR", help: "the queue directory of the pool", defaultText: defaultQueue)
  static let store = CommandOption(
    name: "store", value: "FILE",
    help:
      "the SQLite store, or the URL of a PostgreSQL database; without it, that of the pool which runs on the queue "
      + "directory"
  )
  static let model = CommandOption(
    name: "model", value: "PATH",
    help: "the model (.xcdatamodeld, .momd); without it, the copy that --store keeps, or without --store the pool's")
  static let json = CommandOption(name: "json", help: "print JSON for programs instead of text for people")

  static let defaultQueue = "queue"
}

extension ParsedArguments {
  /// The path of the queue directory.
  var queue: String { string("queue") ?? CommonOptions.defaultQueue }

  /// A connection to the pool that runs on the queue directory.
  func pool() throws -> StatusClient { try StatusClient(queue: queue) }

  /// The path of the store: the one that was named, or the running pool's.
  func storePath() throws -> String {
    if let path = string("store") { return path }
    return try runningPool("store").store
  }

  /// The path of the model: the one that was named, or the running pool's. Nil if only a store was named, which keeps
  /// its model.
  func modelPath() throws -> String? {
    if let path = string("model") { return path }
    return string("store") == nil ? try runningPool("model").model : nil
  }

  /// The path of the store of the pool that runs on the queue directory; nil where none runs.
  func storeOfRunningPool() throws -> String? {
    do {
      return try pool().request(StatusRequest(.status, local: true)).status?.store
    } catch StatusClient.Failure.notRunning {
      return nil
    }
  }

  private func runningPool(_ option: String) throws -> PoolStatus {
    do {
      guard let status = try pool().request(StatusRequest(.status, local: true)).status else {
        throw StatusClient.Failure.noReply("it sent no status")
      }
      return status
    } catch StatusClient.Failure.notRunning {
      throw NoPoolError(queue: queue, option: option)
    }
  }
}

/// An option is missing that a running pool would tell.
struct NoPoolError: Error, CustomStringConvertible {
  let queue: String
  let option: String

  var description: String { "no pool is running on \(queue); --\(option) names the \(option) without one" }
}
