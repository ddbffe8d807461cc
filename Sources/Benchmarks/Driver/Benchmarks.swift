import CoreData
import Foundation
import LinuxSystem

/// Runs each benchmark beside the same work in plain `sqlite3` calls and prints the ratio. Each benchmark has a process
/// of its own and works on stores that another process filled. If one fails, its reason is reported and the others
/// still run.
///
///     swift run -c release Benchmarks [--rows 200000] [--rounds 7] [--json] [--compare FILE|PROGRAM] [--check FILE] \
///       [NAME …]
@main
struct Benchmarks {
  private static var measures: [Measure] {
    StoreBenchmarks.measures + AccessorBenchmarks.measures + FetchedResultsBenchmark.measures
      + ContextMemory.measures + CampusBenchmarks.measures + CommitLatency.measures + PoolBenchmarks.measures
      + IdlePool.measures + BacklogBenchmark.measures + QueuesBenchmark.measures + IntakeBenchmark.measures
      + MemoryBenchmark.measures + WorkingJobs.measures + ManyWorkers.measures
  }

  static func main() throws {
    if BenchmarkWorker.isWanted { BenchmarkWorker.main() }
    try CommitLatency.fetchIfWanted()
    try FilledStore.fillIfWanted()
    try PoolProcess.runIfWanted()
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      if let name = options.measureOfThisProcess { return measure(name, options) }
      try run(options)
    } catch let error as UsageError {
      exit(complaining: "\(error)\n\(Options.usage)", code: 2)
    }
  }

  private static func run(_ options: Options) throws {
    let unknown = options.names.filter { name in !measures.contains { $0.name == name } }
    guard unknown.isEmpty else {
      throw UsageError(
        "No measure is named \(unknown.joined(separator: ", ")). There are: "
          + measures.map(\.name).joined(separator: ", "))
    }
    // Faults in these files are reported before minutes of measuring.
    let former = try options.former.map(Run.init(readFrom:))
    let thresholds = try options.thresholds.map(Thresholds.init(readFrom:))
    let chosen = measures.filter { options.names.isEmpty || options.names.contains($0.name) }

    let run = take(chosen, options)
    if options.printsJSON { show(try run.json) }
    if let former { for line in RunComparison(before: former, after: run).lines { show(line) } }
    let violations = thresholds?.violations(run) ?? []
    for line in violations { complain("above its threshold: \(line)") }
    guard run.failures.isEmpty else {
      let names = run.failures.keys.sorted().joined(separator: ", ")
      exit(complaining: "\(run.failures.count) of \(chosen.count) measures failed: \(names)", code: 1)
    }
    if !violations.isEmpty { Foundation.exit(1) }
  }

  /// Takes the measures one after the other and prints each line of the table at once.
  private static func take(_ measures: [Measure], _ options: Options) -> Run {
    var run = Run(options)
    if !options.printsJSON {
      show("\(options.rows) rows of five attributes, median of \(options.rounds) rounds, both sides in turn\n")
      show(Table.heading(options.otherProgram == nil ? "plain C" : "other"))
    }
    for measure in measures {
      let outcome =
        options.otherProgram.map { OtherProgram(path: $0).run(measure.name, options) }
        ?? MeasureProcess.run(measure.name, options)
      run.figures += outcome.figures
      run.failures[measure.name] = outcome.failure
      if options.printsJSON { continue }
      for figure in outcome.figures { show(Table.line(figure)) }
      if let failure = outcome.failure { show(Table.failure(measure.name, failure)) }
    }
    return run
  }

  /// Takes one measure in this process and writes its figures for the process that started it.
  private static func measure(_ name: String, _ options: Options) {
    Use.begin()
    guard let measure = measures.first(where: { $0.name == name }) else {
      exit(complaining: "No measure is named \(name).", code: 2)
    }
    do {
      try MeasureFault.occurIfWanted(in: name)
      for figure in try measure.run(options) { show(try MeasureProcess.line(figure)) }
    } catch {
      exit(complaining: "error: \(error)", code: 1)
    }
  }

  // MARK: Output

  /// Prints a line without buffering, even into a file.
  private static func show(_ line: String) {
    print(line)
    fflush(nil)
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }

  private static func exit(complaining message: String, code: Int32) -> Never {
    complain(message)
    Foundation.exit(code)
  }
}

/// One measure, which gives figures.
struct Measure {
  let name: String
  let run: (Options) throws -> [Figure]
}

/// The seconds that the body takes.
func seconds(_ body: () throws -> Void) rethrows -> Double { try Use.of(body).seconds }
