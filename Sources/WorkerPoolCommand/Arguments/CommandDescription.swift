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
  /// Shown in the help.
  var defaultText: String?
  var isRepeating = false
}

/// What the process exits with; scripts may rely on it.
enum ExitCode: Int32, CaseIterable {
  case success = 0
  case failure = 1
  case usage = 2
  case notRunning = 3
  case nothingToStart = 4
  case storeIsLocked = 5
  case storeParted = 6
  case storeIsUnfit = 7

  /// For the help.
  var meaning: String {
    switch self {
    case .success: "done"
    case .failure: "tried, and failed; standard error says why"
    case .usage: "wrong arguments; nothing was tried"
    case .notRunning: "no pool runs on that queue directory"
    case .nothingToStart: "no plugin could be started: the pool ended, or did not begin"
    case .storeIsLocked: "the pool ended because another process had the store locked for too long"
    case .storeParted: "the pool ended because its store was deleted, renamed or replaced"
    case .storeIsUnfit: "the store is of another model or version, or cannot be written"
    }
  }
}
