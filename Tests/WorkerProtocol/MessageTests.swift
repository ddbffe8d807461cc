import Testing
import WorkerProtocol

private func uri(_ number: Int) throws -> ObjectURI {
  try #require(ObjectURI("x-coredata://STORE/PoolJob/p\(number)"))
}

private func encodedLines(_ append: (inout [UInt8]) -> Void) -> [String] {
  var bytes: [UInt8] = []
  append(&bytes)
  return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
}

@Suite struct MessageTests {
  @Test func everyWorkerMessageReadsBackAsItWasWritten() throws {
    let messages: [WorkerMessage] = try [
      .hello(version: 1, kinds: ["index", "import.csv"]), .credit(0), .credit(32), .begin([uri(1)]),
      .saved(.inserted, [uri(1), uri(2)]), .saved(.updated, [uri(3)]), .saved(.deleted, [uri(4)]),
      .progress(uri(1), done: 3, total: 10), .done([uri(1), uri(2)]), .failed(uri(1)), .returned([uri(9)]), .nudge,
      .settle(.succeeded, uri(1), run: 7), .settle(.failed, uri(2), run: 0),
    ]
    for message in messages {
      let lines = encodedLines { message.append(to: &$0) }
      #expect(try lines.map { try WorkerMessage(line: $0) } == [message])
    }
  }

  @Test func everyCoordinatorMessageReadsBackAsItWasWritten() throws {
    let messages: [CoordinatorMessage] = try [
      .welcome(version: 1), .refused(.version, lowest: 1, highest: 1), .refused(.message, lowest: 1, highest: 2),
      .run([uri(1), uri(2)]), .cancel(uri(1)), .recall(3), .saved(.deleted, [uri(1)]), .drain,
    ]
    for message in messages {
      let lines = encodedLines { message.append(to: &$0) }
      #expect(try lines.map { try CoordinatorMessage(line: $0) } == [message])
    }
  }

  @Test func aListTooLongForOneLineBecomesSeveral() throws {
    let uris = try (1...5000).map(uri)
    let lines = encodedLines { WorkerMessage.done(uris).append(to: &$0) }
    #expect(lines.count > 1)
    #expect(lines.allSatisfy { $0.utf8.count < ProtocolLimit.lineBytes })
    let readBack = try lines.flatMap { line -> [ObjectURI] in
      guard case .done(let uris) = try WorkerMessage(line: line) else { return [] }
      return uris
    }
    #expect(readBack == uris)
  }

  @Test(arguments: [
    "", " ", "DONE", "DONE ", " DONE x-coredata://S/E/p1", "DONE  x-coredata://S/E/p1", "DONE x-coredata://S/E/p1 ",
    "DONE p1", "DONE http://S/E/p1", "DONE x-coredata://", "FAILED x-coredata://a x-coredata://b", "CREDIT",
    "CREDIT -1",
    "CREDIT 1 2", "CREDIT +1", "CREDIT 1e3", "CREDIT 99999999999999999999", "CREDIT 2147483648", "HELLO 1",
    "HELLO one kind", "HELLO 1 ki/nd kind", "PROGRESS x-coredata://a 1", "SAVED x-coredata://a",
    "SAVED renamed x-coredata://a", "SETTLE done x-coredata://S/E/p1 1", "SETTLE failed x-coredata://S/E/p1",
    "NUDGE 1", "done x-coredata://S/E/p1", "RUN x-coredata://S/E/p1", "WELCOME 1",
  ])
  func aLineThatIsNoWorkerMessageIsAnError(line: String) {
    #expect(throws: MessageError.self) { try WorkerMessage(line: line) }
  }

  @Test(arguments: [
    "DRAIN now", "REFUSED because 1 1", "REFUSED token 1 1", "REFUSED message", "WELCOME", "RECALL all", "RUN",
    "DONE x-coredata://a",
  ])
  func aLineThatIsNoCoordinatorMessageIsAnError(line: String) {
    #expect(throws: MessageError.self) { try CoordinatorMessage(line: line) }
  }

  @Test func anErrorNamesTheVerbAndNothingElseOfTheLine() {
    let error = #expect(throws: MessageError.self) { try WorkerMessage(line: "HELLO one secret kind") }
    #expect(error.map { "\($0)".contains("secret") } == false)
    #expect(error.map { "\($0)".contains("HELLO") } == true)
  }
}
