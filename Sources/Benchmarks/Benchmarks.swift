import CoreData
import Foundation

/// Runs each measure beside the same work in plain `sqlite3` calls, in this process, and prints the ratio.
///
///     swift run -c release Benchmarks [--rows 200000] [--rounds 5] [--backlog 1000000] [--parameters 0] [NAME …]
@main
struct Benchmarks {
  static func main() throws {
    if BenchmarkWorker.isWanted { BenchmarkWorker.main() }
    try CommitLatency.fetchIfWanted()
    let options = try Options(CommandLine.arguments.dropFirst())
    let measures =
      StoreBenchmarks.measures + AccessorBenchmarks.measures + FetchedResultsBenchmark.measures
      + CommitLatency.measures + PoolBenchmarks.measures + IdlePool.measures + BacklogBenchmark.measures
      + QueuesBenchmark.measures
    let chosen = options.names.isEmpty ? measures : measures.filter { options.names.contains($0.name) }
    guard !chosen.isEmpty else {
      FileHandle.standardError.write(
        Data("No measure of that name. There are: \(measures.map(\.name).joined(separator: ", "))\n".utf8))
      exit(2)
    }
    print("\(options.rows) rows of five attributes, median of \(options.rounds) rounds, both sides in turn\n")
    print(Row.heading)
    for measure in chosen {
      for row in try measure.run(options) { print(row) }
    }
  }
}

struct Options {
  var rows = 200_000
  var rounds = 5
  /// Jobs of the backlog.
  var backlog = 1_000_000
  /// Bytes of parameters in each of them.
  var parameters = 0
  var names: [String] = []

  init(_ arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--rows": rows = rest.popFirst().flatMap { Int($0) } ?? rows
      case "--backlog": backlog = rest.popFirst().flatMap { Int($0) } ?? backlog
      case "--parameters": parameters = rest.popFirst().flatMap { Int($0) } ?? parameters
      case "--rounds": rounds = rest.popFirst().flatMap { Int($0) } ?? rounds
      default: names.append(argument)
      }
    }
  }
}

/// One measure: gives its rows of the table.
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

  /// Two durations of the same work, in seconds.
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

/// Seconds that the body takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  let duration = start.duration(to: .now)
  return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
}

/// Runs both sides in turn and compares their medians, so that a noisy neighbour disturbs both alike.
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
