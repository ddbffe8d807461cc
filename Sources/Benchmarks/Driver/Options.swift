import Foundation
import LinuxSystem

/// The options of the command line.
struct Options: Sendable {
  static let usage = """
    usage: Benchmarks [options] [NAME …]
      --rows N          rows of a store, and jobs at most (200000)
      --rounds N        rounds of each measure, both sides in turn (7)
      --backlog N       jobs of the backlog (1000000)
      --parameters N    bytes of parameters in each of them (0)
      --people N        rows of a further store for "working-jobs" (none)
      --json            print all samples as JSON instead of the table
      --compare FILE    tell what moved against a run that --json has printed
      --compare PROGRAM take the measures of another build of this program in turn with this one's
      --check FILE      fail when a figure is above its threshold in the file
    """

  var rows = 200_000
  var rounds = 7
  /// The number of jobs in the backlog.
  var backlog = 1_000_000
  /// The size of each job's parameters in bytes.
  var parameters = 0
  /// The rows of the largest store that jobs work on; 0 for none beside those of a thousand and a million.
  var people = 0
  var printsJSON = false
  /// The path of an earlier output of `--json`, to compare with.
  var former: String?
  /// The path of another build of this program, to compare with.
  var otherProgram: String?
  /// The path of a file with ``Thresholds``.
  var thresholds: String?
  /// The names of the measures to take; empty for all.
  var names: [String] = []
  /// The only measure that this process takes, for the process that prints the table.
  var measureOfThisProcess: String?

  /// - Throws: ``UsageError``.
  init(_ arguments: some Sequence<String>) throws {
    var arguments = Array(arguments)[...]
    func text(after option: String) throws -> String {
      guard let value = arguments.popFirst() else { throw UsageError("\(option) needs a value") }
      return value
    }
    func number(after option: String) throws -> Int {
      let value = try text(after: option)
      guard let number = Int(value), number >= 0 else { throw UsageError("\(option) takes a number, not \(value)") }
      return number
    }
    while let argument = arguments.popFirst() {
      switch argument {
      case "--rows": rows = try number(after: argument)
      case "--rounds": rounds = max(1, try number(after: argument))
      case "--backlog": backlog = try number(after: argument)
      case "--parameters": parameters = try number(after: argument)
      case "--people": people = try number(after: argument)
      case "--json": printsJSON = true
      case "--compare":
        let path = try text(after: argument)
        if access(path, X_OK) == 0 { otherProgram = path } else { former = path }
      case "--check": thresholds = try text(after: argument)
      case "--measure": measureOfThisProcess = try text(after: argument)
      case let name where name.hasPrefix("-"): throw UsageError("there is no option \(name)")
      default: names.append(argument)
      }
    }
    if otherProgram != nil, thresholds != nil {
      throw UsageError("--check limits ratios to plain C, and --compare PROGRAM has none")
    }
  }

  /// The same with some of the rounds.
  func rounds(_ count: Int) -> Options {
    var options = self
    options.rounds = count
    return options
  }

  /// The arguments that make a process take only this measure.
  func arguments(for name: String) -> [String] {
    [
      "--rows", "\(rows)", "--rounds", "\(rounds)", "--backlog", "\(backlog)", "--parameters", "\(parameters)",
      "--people", "\(people)", "--measure", name,
    ]
  }
}
