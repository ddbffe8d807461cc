import CoreData
import Foundation

/// Runs each benchmark beside the same work in plain `sqlite3` calls and prints the ratio. Each has a process of its
/// own: if one fails, its reason is reported and the others still run.
///
///     swift run -c release Benchmarks [--rows 200000] [--rounds 5] [--backlog 1000000] [--parameters 0] [NAME …]
@main
struct Benchmarks {
  private static var measures: [Measure] {
    StoreBenchmarks.measures + AccessorBenchmarks.measures + FetchedResultsBenchmark.measures
      + CommitLatency.measures + PoolBenchmarks.measures + IdlePool.measures + BacklogBenchmark.measures
      + QueuesBenchmark.measures
  }

  static func main() throws {
    if BenchmarkWorker.isWanted { BenchmarkWorker.main() }
    try CommitLatency.fetchIfWanted()
    let options = Options(CommandLine.arguments.dropFirst())
    let unknown = options.names.filter { name in !measures.contains { $0.name == name } }
    guard unknown.isEmpty else {
      exit(
        complaining: "No measure is named \(unknown.joined(separator: ", ")). There are: "
          + measures.map(\.name).joined(separator: ", "), code: 2)
    }
    if let name = options.measureOfThisProcess { return run(name, options) }
    print("\(options.rows) rows of five attributes, median of \(options.rounds) rounds, both sides in turn\n")
    show(Row.heading)
    let chosen = measures.filter { options.names.isEmpty || options.names.contains($0.name) }
    let failed = chosen.filter { !isMeasured($0.name, options) }.map(\.name)
    guard failed.isEmpty else {
      exit(
        complaining: "\(failed.count) of \(chosen.count) measures failed: \(failed.joined(separator: ", "))", code: 1)
    }
  }

  /// Prints the rows of the benchmark's process; false if it failed.
  private static func isMeasured(_ name: String, _ options: Options) -> Bool {
    let outcome = MeasureProcess.run(name, options)
    for row in outcome.rows { show("\(row)") }
    if let failure = outcome.failure { show("\(Row(name: name, ours: "failed: \(failure)", plain: "", ratio: ""))") }
    return outcome.failure == nil
  }

  /// Prints a line and flushes it, so that a file has it at once too.
  private static func show(_ line: String) {
    print(line)
    fflush(nil)
  }

  /// Runs one benchmark in this process and writes its rows for the parent process.
  private static func run(_ name: String, _ options: Options) {
    guard let measure = measures.first(where: { $0.name == name }) else {
      exit(complaining: "No measure is named \(name).", code: 2)
    }
    do {
      try MeasureFault.occurIfWanted(in: name)
      for row in try measure.run(options) { print(row.line) }
    } catch {
      exit(complaining: "error: \(error)", code: 1)
    }
  }

  private static func exit(complaining message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    Foundation.exit(code)
  }
}

struct Options {
  var rows = 200_000
  var rounds = 5
  /// The number of jobs in the backlog.
  var backlog = 1_000_000
  /// The size of the parameters of each of them, in bytes.
  var parameters = 0
  var names: [String] = []
  /// The benchmark that this process runs for a parent, which prints the table; nil in the parent.
  var measureOfThisProcess: String?

  init(_ arguments: some Sequence<String>) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--rows": rows = rest.popFirst().flatMap { Int($0) } ?? rows
      case "--backlog": backlog = rest.popFirst().flatMap { Int($0) } ?? backlog
      case "--parameters": parameters = rest.popFirst().flatMap { Int($0) } ?? parameters
      case "--rounds": rounds = rest.popFirst().flatMap { Int($0) } ?? rounds
      case "--measure": measureOfThisProcess = rest.popFirst()
      default: names.append(argument)
      }
    }
  }

  /// The arguments with which a process runs this benchmark alone.
  func arguments(for name: String) -> [String] {
    [
      "--rows", "\(rows)", "--rounds", "\(rounds)", "--backlog", "\(backlog)", "--parameters", "\(parameters)",
      "--measure", name,
    ]
  }
}

/// One benchmark, which returns its rows of the table.
struct Measure {
  let name: String
  let run: (Options) throws -> [Row]
}

/// A line of the table.
struct Row: CustomStringConvertible {
  let name: String
  let ours: String
  let plain: String
  let ratio: String

  static let heading = Row(name: "measure", ours: "ours", plain: "plain C", ratio: "ratio").description

  var description: String {
    name.padded(46) + ours.padded(16) + plain.padded(16) + ratio
  }

  init(name: String, ours: String, plain: String, ratio: String) {
    self.name = name
    self.ours = ours
    self.plain = plain
    self.ratio = ratio
  }

  /// The row as a line that ``init(line:)`` reads.
  var line: String { [name, ours, plain, ratio].joined(separator: "\t") }

  /// Nil for a line that is not a row.
  init?(line: Substring) {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 4 else { return nil }
    self.init(name: fields[0], ours: fields[1], plain: fields[2], ratio: fields[3])
  }

  /// A row of two durations of the same work, in seconds.
  init(_ name: String, ours: Double, plain: Double) {
    self.init(
      name: name, ours: Row.milliseconds(ours), plain: Row.milliseconds(plain),
      ratio: String(format: "%.2f", ours / plain))
  }

  static func milliseconds(_ seconds: Double) -> String { String(format: "%.2f ms", seconds * 1000) }
}

extension String {
  fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}

/// The duration of the body in seconds.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  let duration = start.duration(to: .now)
  return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
}

/// Runs both sides alternately and compares their medians, so that other load on the machine affects both alike.
func compare(
  _ name: String, _ options: Options, ours: () throws -> Double, plain: () throws -> Double
) rethrows -> Row {
  var mine: [Double] = []
  var theirs: [Double] = []
  for _ in 0..<options.rounds {
    mine.append(try ours())
    theirs.append(try plain())
  }
  return Row(name, ours: mine.median, plain: theirs.median)
}

extension Array where Element == Double {
  var median: Double { percentile(0.5) }

  func percentile(_ part: Double) -> Double {
    guard !isEmpty else { return .nan }
    return sorted()[Swift.min(count - 1, Int(Double(count) * part))]
  }
}
