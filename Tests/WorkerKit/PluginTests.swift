import Foundation
import TestFiles
import Testing
import WorkerProtocol
import WorkerPool

/// A plugin's executable, called by hand.
@Suite(.ownThreads) struct PluginTests {
  private struct Outcome {
    let code: Int32
    let output: String
  }

  private func run(_ arguments: String...) throws -> Outcome {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: PoolConfiguration.executableDirectory + "/test-worker")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(code: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
  }

  @Test func itDescribesItselfAsTheProtocolWants() throws {
    let outcome = try run("describe")
    #expect(outcome.code == 0)
    let description = try JSONDecoder().decode(PluginDescription.self, from: Data(outcome.output.utf8))
    #expect(description.protocolVersions == [2])
    var (fail, late) = (
      PluginDescription.Kind(kind: "fail", maxAttempts: 2),
      PluginDescription.Kind(kind: "late", timeout: 0.05, maxAttempts: 1)
    )
    (fail.backoff, late.backoff) = (0.5, 0.5)
    #expect(description.kinds.contains(fail) && description.kinds.contains(late))
  }

  @Test func startedWithoutAPoolItExplainsItself() throws {
    let outcome = try run()
    #expect(outcome.code == 64)
    #expect(outcome.output.contains("workerpool"))
    #expect(outcome.output.contains("add-slowly"))
    #expect(try run("--help").code == 0)
    #expect(try run("dance").code == 64)
  }
}
