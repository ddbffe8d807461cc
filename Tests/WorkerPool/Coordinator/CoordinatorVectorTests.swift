import Foundation
import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Replays the recorded conversations of `Protocol/Vectors` as the coordinator: what the worker said is put in, what
/// the coordinator said must come out.
@Suite struct CoordinatorVectorTests {
  static let vectors: [URL] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Protocol/Vectors")
    let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "txt" && !$0.lastPathComponent.hasPrefix("refused") }
      .sorted { $0.path < $1.path }
  }()

  @Test(arguments: vectors) func theCoordinatorSaysWhatTheVectorSays(vector: URL) throws {
    var coordinator = Coordinator()
    coordinator.jobURIs = JobURIs(store: "POOL")
    coordinator.setKinds(["index": KindRules()])
    for case .fetchReady(let query) in coordinator.takeEffects() { coordinator.fetched(query, [], isComplete: true) }
    let id = WorkerID(number: 1)
    let elsewhere = WorkerID(number: 2)
    var said: [String] = []

    for step in try Transcript(try String(contentsOf: vector, encoding: .utf8)).steps {
      switch step {
      case .worker(let line):
        let message = try WorkerMessage(line: line)
        if case .hello(_, let kinds) = message {
          coordinator.workerCameUp(id, kinds: kinds)
        } else {
          coordinator.workerSaid(message, id)
        }
      case .event(let words) where words[0] == "coordinator":
        let uris = words.compactMap { ObjectURI($0) }
        switch words[1] {
        case "ready":
          coordinator.becameReady(
            uris.map { WindowJob(key: $0.key, kind: words[2], queue: "default", priority: 0) })
        case "cancel": coordinator.cancel(uris[0].key)
        case "settled": coordinator.settled(uris.map(\.key))
        case "drain": coordinator.drain(id)
        case "elsewhere":
          coordinator.workerCameUp(elsewhere, kinds: ["other"])
          coordinator.workerSaid(.saved(try #require(SavedChange(rawValue: words[2])), uris), elsewhere)
        default: Issue.record("the vector has an unknown event: \(words)")
        }
      case .event: break
      case .coordinator(let line):
        #expect(said.isEmpty == false, "nothing was said where the vector has: \(line)")
        if !said.isEmpty { #expect(said.removeFirst() == line) }
      }
      for case .send(let message, to: id) in coordinator.takeEffects() {
        var bytes: [UInt8] = []
        message.append(to: &bytes)
        said += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      }
    }
    #expect(said == [], "the coordinator said more than the vector has")
  }
}
