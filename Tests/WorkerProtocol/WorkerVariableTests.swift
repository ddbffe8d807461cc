import Foundation
import Testing
import WorkerProtocol

@Suite struct WorkerVariableTests {
  @Test func theProtocolPageListsEveryVariableAndNoOther() throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Protocol/PROTOCOL.md")
    let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter {
      $0.hasPrefix("| `WORKERPOOL_")
    }
    let names = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
    #expect(Set(names) == Set(WorkerVariable.allCases.map(\.rawValue)))
  }

  @Test func aDescriptionIsReadAsItWasPrinted() throws {
    var kind = PluginDescription.Kind(kind: "index", timeout: 60, maxAttempts: 5, limit: 2)
    (kind.backoff, kind.rate) = (0.5, JobRate(jobs: 10, period: 60))
    let description = PluginDescription(
      name: "index", version: "1.0", protocolVersions: [1], kinds: [kind], heartbeat: true)
    #expect(try PluginDescription(json: description.json) == description)
    #expect(description.json.contains(#""kind":"index""#) && !description.json.contains("maxCrashes"))
  }

  @Test func namesAreShortAndMadeOfLettersDigitsAndThreeSigns() {
    #expect(isProtocolName("a-B_c.9") && isProtocolName(String(repeating: "x", count: 128)))
    for name in ["", "a b", "a/b", "ä", String(repeating: "x", count: 129)] {
      #expect(!isProtocolName(name), "\(name)")
    }
    let limit = ProtocolLimit.jobNameBytes
    #expect(isProtocolName(String(repeating: "x", count: limit), atMost: limit))
    #expect(!isProtocolName(String(repeating: "x", count: limit + 1), atMost: limit))
  }
}
