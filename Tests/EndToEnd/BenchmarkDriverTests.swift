import Foundation
import Testing

/// A table of measures loses none of them because another one fails.
@Suite struct BenchmarkDriverTests {
  @Test(.timeLimit(.minutes(20)), arguments: ["trap", "throw"])
  func aMeasureThatFailsSaysWhyAndLetsTheOthersRun(fault: String) throws {
    let place = try TestPlace()
    // Given two measures, of which the first fails.
    let finished = try run(
      "/usr/bin/env",
      [
        "TMPDIR=\(place.url.path)", "SWIFT_BACKTRACE=enable=no", "BENCHMARK_FAULT=insert:\(fault)",
        Built.path("Benchmarks"), "--rows", "100", "--rounds", "1", "insert", "fetch-predicate",
      ])
    // Then the table has the row of the second, and the reason of the first.
    #expect(finished.code == 1)
    let failure = try #require(finished.lines.first { $0.hasPrefix("insert ") }, "\(finished.output)")
    #expect(failure.contains(fault == "trap" ? "Fatal error: BENCHMARK_FAULT asks for it" : "it exited with code 1"))
    #expect(finished.lines.contains { $0.hasPrefix("fetch with predicate and sort, read all") && $0.contains(" ms") })
    #expect(finished.errors.contains("1 of 2 measures failed: insert"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty, "nothing is left behind")
  }
}
