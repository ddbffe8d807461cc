import Foundation
import Testing

/// Benchmarks lose no result because one of them fails, and their results can be kept and compared.
@Suite struct BenchmarkDriverTests {
  /// Runs two of them on a small store.
  private func benchmarks(_ place: TestPlace, _ arguments: String..., fault: String = "") throws -> Finished {
    try run(
      "/usr/bin/env",
      [
        "TMPDIR=\(place.url.path)", "SWIFT_BACKTRACE=enable=no", "BENCHMARK_FAULT=\(fault)", Built.path("Benchmarks"),
        "--rows", "100", "--rounds", "3",
      ] + arguments + ["insert", "fetch-predicate"])
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["trap", "throw"])
  func aMeasureThatFailsSaysWhyAndLetsTheOthersRun(fault: String) throws {
    let place = try TestPlace()
    // Given two measures, of which the first fails.
    let finished = try benchmarks(place, fault: "insert:\(fault)")
    // Then the table has the row of the second, and the reason of the first.
    #expect(finished.code == 1)
    let failure = try #require(finished.lines.first { $0.hasPrefix("insert ") }, "\(finished.output)")
    #expect(failure.contains(fault == "trap" ? "Fatal error: BENCHMARK_FAULT asks for it" : "it exited with code 1"))
    #expect(finished.lines.contains { $0.hasPrefix("fetch with predicate and sort, read all") && $0.contains("(") })
    #expect(finished.errors.contains("1 of 2 measures failed: insert"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty, "nothing is left behind")
  }

  /// One figure of what `--json` prints.
  private struct Figure: Decodable {
    struct Use: Decodable {
      let processorSeconds: Double
      let allocations: Int?
    }
    let name: String
    let ours: [Double]
    let plain: [Double]
    let oursUse: [Use]
    let plainUse: [Use]
  }

  private struct Document: Decodable {
    let rounds: Int
    let figures: [Figure]
  }

  @Test(.timeLimit(.minutes(20)))
  func aRunThatIsKeptHasAllSamplesAndLaterOnesAreComparedWithIt() throws {
    let place = try TestPlace()
    let finished = try benchmarks(place, "--json")
    #expect(finished.code == 0, "\(finished.errors)")
    let document = try JSONDecoder().decode(Document.self, from: Data(finished.output.utf8))
    #expect(document.rounds == 3)
    #expect(document.figures.map(\.name) == ["insert and save", "fetch with predicate and sort, read all"])
    for figure in document.figures {
      for samples in [figure.ours, figure.plain] { #expect(samples.count == 3 && samples.allSatisfy { $0 > 0 }) }
      // 100 objects take at least an allocation each.
      #expect(figure.oursUse.allSatisfy { ($0.allocations ?? 100) >= 100 }, "\(figure.name)")
      #expect(figure.plainUse.count == 3)
    }

    // A run in which the same figures took a thousandth of the time.
    let fast = place.path("fast.json")
    var kept = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let figures = try #require(kept["figures"] as? [[String: Any]])
    kept["figures"] = figures.map { figure in
      figure.merging(["ours": (figure["ours"] as? [Double] ?? []).map { $0 / 1000 }]) { $1 }
    }
    try JSONSerialization.data(withJSONObject: kept).write(to: URL(fileURLWithPath: fast))
    let compared = try benchmarks(place, "--compare", fast)
    #expect(compared.lines.count { $0.hasPrefix("worse: ") } == 2, "\(compared.output)")
    #expect(compared.output.contains("2 of 2 figures moved beyond the spread of both runs"))
  }

  @Test(.timeLimit(.minutes(20)))
  func anotherBuildIsMeasuredInTurnWithThisOne() throws {
    let place = try TestPlace()
    let finished = try benchmarks(place, "--json", "--compare", Built.path("Benchmarks"))
    #expect(finished.code == 0, "\(finished.errors)")
    let document = try JSONDecoder().decode(Document.self, from: Data(finished.output.utf8))
    #expect(document.figures.map(\.name) == ["insert and save", "fetch with predicate and sort, read all"])
    for figure in document.figures {
      // Two of three rounds before the other program, and two after it. Both allocate alike, and plain C does not.
      for samples in [figure.ours, figure.plain] { #expect(samples.count == 4 && samples.allSatisfy { $0 > 0 }) }
      #expect(figure.plainUse.allSatisfy { ($0.allocations ?? 100) >= 100 }, "\(figure.name)")
    }
    let table = try benchmarks(place, "--compare", Built.path("Benchmarks"))
    #expect(table.lines.contains { $0.hasPrefix("measure ") && $0.contains("other") }, "\(table.output)")

    // Another program's failure is named.
    let failed = try benchmarks(place, "--compare", "/bin/false")
    #expect(failed.code == 1)
    #expect(failed.output.contains("in /bin/false: it exited with code 1"), "\(failed.output)")
  }

  @Test(.timeLimit(.minutes(20)))
  func aFigureAboveItsThresholdFailsTheRun() throws {
    let place = try TestPlace()
    func check(_ ratios: String, allocations: String = "") throws -> Finished {
      let text = #"{"margin": 2, "ratios": {\#(ratios)}, "allocations": {\#(allocations)}}"#
      try place.write(text, to: "thresholds.json")
      return try benchmarks(place, "--check", place.path("thresholds.json"))
    }
    #expect(try check(#""insert and save": 100000"#, allocations: #""insert and save": 1000"#).code == 0)
    let slow = try check(#""insert and save": 0.001, "delete": 5"#)
    #expect(slow.code == 1)
    #expect(slow.errors.contains("above its threshold: insert and save: "), "\(slow.errors)")
    #expect(slow.errors.contains("above its threshold: delete has a threshold in times plain C and was not measured"))
    let wasteful = try check("", allocations: #""insert and save": 0.5"#)
    #expect(wasteful.code == 1)
    #expect(wasteful.errors.contains("allocations per row, and at most 0.50 are allowed"), "\(wasteful.errors)")
  }

  @Test(.timeLimit(.minutes(20)))
  func wrongArgumentsAndFilesAreNamedBeforeAnythingIsMeasured() throws {
    let place = try TestPlace()
    for (arguments, message) in [
      (["--rows", "many"], "--rows takes a number, not many"), (["--jsn"], "there is no option --jsn"),
      (["instert"], "No measure is named instert"),
      (["--compare", place.path("none.json")], "none.json is not what --json prints"),
      (["--check", place.path("none.json")], "none.json has no thresholds"),
      (["--compare", "/bin/false", "--check", "x"], "--compare PROGRAM has none"),
    ] {
      let finished = try run(Built.path("Benchmarks"), arguments)
      #expect(finished.code == 2)
      #expect(finished.errors.contains(message), "\(finished.errors)")
      #expect(finished.output.isEmpty)
    }
  }
}
