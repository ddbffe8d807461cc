import Foundation
import Testing
import WorkerProtocol

@Suite struct VectorTests {
  /// The recorded conversations of `Protocol/Vectors`.
  static let vectors: [URL] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Protocol/Vectors")
    let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "txt" }.sorted { $0.path < $1.path }
  }()

  @Test func vectorsAreThere() {
    #expect(Self.vectors.count >= 9)
  }

  @Test(arguments: vectors) func everyLineOfAVectorIsAMessageThatEncodesToTheSameLine(vector: URL) throws {
    let transcript = try Transcript(try String(contentsOf: vector, encoding: .utf8))
    #expect(!transcript.steps.isEmpty)
    for step in transcript.steps {
      var bytes: [UInt8] = []
      switch step {
      case .worker(let line):
        if line.hasPrefix("FETCH ") {
          #expect(throws: MessageError.unknownVerb("FETCH")) { try WorkerMessage(line: line) }
        } else {
          try WorkerMessage(line: line).append(to: &bytes)
          #expect(String(decoding: bytes, as: UTF8.self) == line + "\n")
        }
      case .coordinator(let line):
        try CoordinatorMessage(line: line).append(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == line + "\n")
      case .event: break
      }
    }
  }
}
