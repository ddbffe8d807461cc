import Foundation
import Jobs
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// 100,000 slightly wrong texts: none is accepted that says something else than what was understood, none crashes
/// anything, each that is rejected has a reason.
@Suite(.ownThreads) struct BadInputTests {
  private static let jobFiles = [
    #"{"kind": "index", "objects": ["x-coredata://A-1/Document/p42"], "parameters": {"depth": [2, null, 1.5e3]}}"#,
    #"{"kind": "a.b-c", "priority": -5, "queue": "slow", "runAt": "2026-01-01T00:00:00Z", "unique": "k\u00e9y"}"#,
    #"{"kind":"x","maxAttempts":5,"timeout":60}"# + "\n" + #"{"kind":"y","parameters":{}}"# + "\n",
  ].map { Array($0.utf8) }

  @Test func ofMutatedJobFilesOnlyGoodOnesAreTaken() throws {
    var mutator = Mutator(seed: 1)
    var accepted = 0
    for number in 0..<60_000 {
      let bytes = mutator.mutated(Self.jobFiles[number % Self.jobFiles.count])
      let jobs: [JobRequest]
      do {
        jobs = try JobFile.parse(bytes)
      } catch {
        #expect(!error.reason.isEmpty)
        continue
      }
      accepted += 1
      // Another reader finds JSON in it, too, and what was understood is what is written.
      let text = try #require(String(validating: bytes, as: UTF8.self))
      for line in try JobFile.text(jobs).split(separator: "\n") {
        // Foundation refuses numbers that no Double holds; they are JSON all the same.
        if try isFinite(JSONParser.parse(String(line))) {
          #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(text)")
        }
      }
      #expect(try JobFile.parse(Array(JobFile.text(jobs).utf8)) == jobs, "\(text)")
      #expect(jobs.allSatisfy { isProtocolName($0.kind) }, "\(text)")
    }
    #expect(accepted > 100 && accepted < 30_000, "\(accepted)")
  }

  private func isFinite(_ value: JSONValue) -> Bool {
    switch value {
    case .number: value.doubleValue?.isFinite == true
    case .array(let elements): elements.allSatisfy(isFinite)
    case .object(let members): members.allSatisfy { isFinite($0.value) }
    default: true
    }
  }

  private static let lines = [
    "HELLO 2 index import", "CREDIT 12", "BEGIN x-coredata://A/PoolJob/p1 x-coredata://A/PoolJob/p2",
    "SAVED updated x-coredata://A/Document/p7", "PROGRESS x-coredata://A/PoolJob/p1 3 10",
    "DONE x-coredata://A/PoolJob/p1", "FAILED x-coredata://A/PoolJob/p1", "RETURNED x-coredata://A/PoolJob/p1", "NUDGE",
    "PONG", "WELCOME 1", "REFUSED message 2 2", "RUN x-coredata://A/PoolJob/p1", "CANCEL x-coredata://A/PoolJob/p1",
    "RECALL 2", "SAVED deleted x-coredata://A/Document/p7 x-coredata://A/Document/p8", "PING", "DRAIN",
  ].map { Array($0.utf8) }

  @Test func ofMutatedProtocolLinesOnlyMessagesAreTaken() throws {
    var mutator = Mutator(seed: 2)
    for number in 0..<30_000 {
      var decoder = LineDecoder()
      decoder.append(mutator.mutated(Self.lines[number % Self.lines.count]) + [0x0A])
      do {
        while let line = try decoder.next() {
          check(line, WorkerMessage.init(line:)) { $0.append(to: &$1) }
          check(line, CoordinatorMessage.init(line:)) { $0.append(to: &$1) }
        }
      } catch {
        #expect(error == .invalidUTF8)
      }
    }
  }

  /// A line that is accepted says what the message says: written again it is the same, but for zeros before a number.
  private func check<Message: Equatable>(
    _ line: String, _ read: (String) throws(MessageError) -> Message, _ write: (Message, inout [UInt8]) -> Void
  ) {
    do throws(MessageError) {
      let message = try read(line)
      var bytes: [UInt8] = []
      write(message, &bytes)
      let written = String(decoding: bytes.dropLast(), as: UTF8.self)
      #expect(try read(written) == message)
      let words = line.split(separator: " ").map { word in
        word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? String(Int(word) ?? -1) : String(word)
      }
      #expect(words.joined(separator: " ") == written)
    } catch {
      #expect(!error.description.isEmpty)
    }
  }

  private static let requests = [
    #"{"command":"status"}"#, #"{"command":"pause","queue":"slow"}"#,
    #"{"command":"scale","count":3,"plugin":"index"}"#,
    #"{"command":"stop","deadline":5.5}"#, #"{"command":"cancel","jobs":["x-coredata://A/PoolJob/p1"]}"#,
  ].map { Array($0.utf8) }

  @Test func ofMutatedRequestsOnlyGoodOnesAreTaken() throws {
    var mutator = Mutator(seed: 3)
    for number in 0..<10_000 {
      let bytes = mutator.mutated(Self.requests[number % Self.requests.count])
      guard let line = String(validating: bytes, as: UTF8.self) else { continue }
      do {
        let request = try StatusRequest.parse(line)
        let members = try #require(try JSONParser.parse(line).objectValue)
        let again = try JSONParser.parse(String(decoding: JSONEncoder().encode(request), as: UTF8.self))
        // Nothing that was sent is passed over.
        for member in members where member.value != .null {
          #expect(again[member.name]?.stringValue == member.value.stringValue, "\(line)")
          #expect(again[member.name] != nil, "\(line)")
        }
        if let count = request.count { #expect(StatusRequest.counts.contains(count)) }
        if let deadline = request.deadline { #expect(StatusRequest.deadlines.contains(deadline)) }
      } catch let error as StatusRequestError {
        #expect(!error.reason.isEmpty)
      }
    }
  }

  @Test(arguments: [
    (#"{"command":"stop","deadlne":5}"#, #"did you mean "deadline"?"#),
    (#"{"command":"scale","count":100000}"#, "0 to 1000"),
    (#"{"command":"stop","deadline":-1}"#, "deadline must be"), (#"{"command":"dance"}"#, "its commands are status"),
    ("[]", "a request is a JSON object"), ("{", "one JSON object on a line"),
    (#"{"command":"pause","queue":"no such"}"#, "queue must be 1 to 100 letters"),
    (#"{"command":"resume","kind":""}"#, "kind must be 1 to 100 letters"),
    (#"{"command":"scale","count":1,"plugin":"\#(String(repeating: "q", count: 256))"}"#, "plugin must have 1 to 255"),
  ])
  func aWrongRequestIsAnsweredWithWhatIsWrong(line: String, reason: String) {
    #expect(throws: StatusRequestError.self) { try StatusRequest.parse(line) }
    do throws(StatusRequestError) { _ = try StatusRequest.parse(line) } catch { #expect(error.reason.contains(reason)) }
  }
}
