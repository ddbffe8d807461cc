/// One command of `workerpool`, as data: its help, and what the reader of arguments accepts.
struct CommandDescription: Sendable {
  let name: String
  /// One line, without a full stop.
  let summary: String
  /// More about it, shown by its own `--help`.
  var discussion = ""
  var operands: [Operand] = []
  var options: [CommandOption] = []
  let run: @Sendable (ParsedArguments) throws -> ExitCode
}

/// An argument without a name.
struct Operand: Sendable {
  /// As in "ENTITY".
  let name: String
  let help: String
  var isOptional = false
  var isRepeating = false

  var synopsis: String {
    let text = isRepeating ? "\(name)…" : name
    return isOptional ? "[\(text)]" : text
  }
}

/// An argument that begins with `--`.
struct CommandOption: Sendable {
  /// Without the dashes.
  let name: String
  /// A letter that stands for it after a single dash.
  var short: Character?
  /// What follows, as in "FILE"; nil for a switch.
  var value: String?
  let help: String
  /// Shown in the help; the code that uses it takes its constant from the library.
  var defaultText: String?
  var isRepeating = false
}

/// What the process exits with; scripts may rely on it.
enum ExitCode: Int32 {
  case success = 0
  /// It was tried and did not work; standard error says why.
  case failure = 1
  /// The arguments are wrong; nothing was tried.
  case usage = 2
  /// No pool runs on that queue directory.
  case notRunning = 3
  /// The pool ended because none of its plugins could be started.
  case nothingToStart = 4
  /// The pool ended because the store could not be opened in time: another process has it locked.
  case storeIsLocked = 5
  /// The pool ended because its store was replaced, renamed or deleted.
  case storeParted = 6
  /// The store is of another model, or cannot be written.
  case storeIsUnfit = 7
}

/// The arguments are wrong: which, and what was probably meant.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
