import Glibc
import LinuxSystem
import Testing

@testable import WorkerPool

@Suite struct OutputAllowanceTests {
  @Test func someLinesOfEachSecondArePassedOnAndTheOthersCounted() {
    var allowance = OutputAllowance()
    let most = OutputAllowance.linesPerSecond
    let first = (0..<most + 30).map { _ in allowance.take(now: 10) }
    #expect(first.count { $0.isPassedOn } == most && first.allSatisfy { $0.omittedBefore == 0 })
    #expect(allowance.take(now: 11) == (true, 30))
    #expect(allowance.takeOmitted() == 0)
  }

  @Test func longLinesComeInPieces() {
    var splitter = OutputSplitter(limit: 4, pending: Array("a".utf8))
    #expect(splitter.add(Array("b\r\nc".utf8)[...]) == ["ab"])
    #expect(splitter.add(Array("defg".utf8)[...]) == ["cdefg"])
    #expect(splitter.finish() == nil)
  }

  /// A job that is tried may print without end.
  @Test func ofATriedJobTheLastLinesAreKept() throws {
    let ends = try PipeEnds()
    var output = try TrialOutput(ends.reading)
    let lines = Array((0..<100).map { "line \($0)\n" }.joined().utf8)
    for _ in 0..<50 {
      #expect(lines.withUnsafeBytes { write(ends.writing.number, $0.baseAddress, $0.count) } == lines.count)
      while output.readSome() {}
    }
    let printed = output.finish()
    #expect(printed.count <= TrialOutput.keptLines + 1)
    let told = try #require(printed.last?.split(separator: " ").compactMap { Int($0) }.first)
    #expect(printed.count - 1 + told == 5000)
  }
}
