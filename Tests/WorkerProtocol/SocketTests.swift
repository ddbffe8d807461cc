import CSystem
import Foundation
import TestFiles
import Testing
import WorkerProtocol

/// A directory of its own for one test, removed with it.
private final class TemporaryDirectory {
  let path: String

  init(depth: Int = 0) throws {
    var url = temporaryURL("protocol")
    root = url
    for _ in 0..<depth { url.appendPathComponent(String(repeating: "d", count: 60)) }
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  private let root: URL
  deinit { try? FileManager.default.removeItem(at: root) }
}

private func connectedPair() throws -> (Connection, Connection) {
  var pair: [Int32] = [0, 0]
  #expect(csystem_unix_socketpair(&pair) == 0)
  return (try Connection(descriptor: pair[0]), try Connection(descriptor: pair[1]))
}

@Suite struct SocketTests {
  @Test(arguments: [0, 3]) func aPathOfAnyLengthCanBeListenedAtAndConnectedTo(depth: Int) throws {
    let directory = try TemporaryDirectory(depth: depth)
    let path = directory.path + "/status.sock"
    #expect((path.utf8.count > 108) == (depth > 0))

    let listener = try UnixSocket.listen(at: path)
    defer { close(listener) }
    #expect(try UnixSocket.accept(on: listener) == nil)
    let client = try Connection(descriptor: UnixSocket.connect(to: path))
    let accepted = try #require(try UnixSocket.accept(on: listener))
    let server = try Connection(descriptor: accepted)

    client.send { WorkerMessage.credit(3).append(to: &$0) }
    #expect(client.flush())
    #expect(try server.receive() == .lines(["CREDIT 3"]))
    #expect(try PeerCredentials(of: server.descriptor).pid == getpid())
    #expect(fcntl(server.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(client.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(server.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }

  @Test func aSocketLeftBehindByADeadProcessIsReplaced() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/status.sock"
    close(try UnixSocket.listen(at: path))
    let listener = try UnixSocket.listen(at: path)
    defer { close(listener) }
    close(try UnixSocket.connect(to: path))
  }

  @Test func connectingToNothingSaysToWhat() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/nothing.sock"
    let error = #expect(throws: SystemCallError.self) { try UnixSocket.connect(to: path) }
    #expect(error?.path == path)
    #expect(error?.number == ENOENT)
  }

  @Test func aFullSocketKeepsTheRestUntilItIsRead() throws {
    let (sender, receiver) = try connectedPair()
    let line = String(repeating: "x", count: 50_000)
    for _ in 0..<100 { sender.send { $0 += Array("\(line)\n".utf8) } }
    #expect(sender.flush() == false)
    #expect(sender.unsentBytes > 0)
    var count = 0
    while count < 100 {
      guard case .lines(let lines) = try receiver.receive() else { break }
      count += lines.count
      sender.flush()
    }
    #expect(count == 100)
    #expect(sender.unsentBytes == 0)
  }

  @Test func aFloodOfLinesIsHandedOverInSharesAndNothingIsLost() throws {
    let (sender, receiver) = try connectedPair()
    var expected: [String] = []
    for number in 0..<30_000 {
      expected.append(String(number))
      sender.send { $0 += Array("\(number)\n".utf8) }
    }
    sender.flush()
    var received: [String] = []
    var calls = 0
    while received.count < expected.count {
      guard case .lines(let lines) = try receiver.receive(atMost: 100) else { break }
      #expect(lines.count <= 100)
      received += lines
      calls += 1
      // What is left here needs no word from the socket; what is left there does.
      if !receiver.hasMore { sender.flush() }
    }
    #expect(received == expected && calls >= 300)
    #expect(!receiver.hasMore)
  }

  @Test func linesBeforeTheEndOrBeforeBytesThatAreNoneComeFirst() throws {
    let (sender, receiver) = try connectedPair()
    sender.send { $0 += Array("A\nB\nC\n".utf8) }
    sender.flush()
    sender.close()
    #expect(try receiver.receive(atMost: 2) == .lines(["A", "B"]))
    #expect(receiver.hasMore)
    #expect(try receiver.receive(atMost: 2) == .closed(["C"]))

    let (other, reader) = try connectedPair()
    other.send { $0 += Array("A\n".utf8) + [0xFF, 0x0A] }
    other.flush()
    #expect(try reader.receive() == .lines(["A"]))
    #expect(reader.hasMore)
    #expect(throws: MessageError.invalidUTF8) { try reader.receive() }
  }

  /// A peer that always leaves a little unread: what it has read is let go.
  @Test func aSlowReaderDoesNotKeepWhatItHasRead() throws {
    let (sender, receiver) = try connectedPair()
    let line = Array((String(repeating: "x", count: 50_000) + "\n").utf8)
    var taken = [UInt8](repeating: 0, count: line.count)
    var most = 0
    for _ in 0..<20 { sender.send { $0 += line } }
    for _ in 0..<400 {
      sender.send { $0 += line }
      #expect(sender.flush() == false)
      most = max(most, sender.sendBufferBytes)
      var bytesLeft = line.count
      while bytesLeft > 0 { bytesLeft -= read(receiver.descriptor, &taken, bytesLeft) }
    }
    #expect(most < 4 << 20, "20 MB were sent, and \(most) bytes were kept")
  }

  @Test func linesSentBeforeAnEndAreStillReceived() throws {
    let (sender, receiver) = try connectedPair()
    sender.send { WorkerMessage.nudge.append(to: &$0) }
    sender.flush()
    sender.close()
    #expect(try receiver.receive() == .lines(["NUDGE"]))
    #expect(try receiver.receive() == .closed([]))
  }

  @Test func writingToAPeerThatIsGoneIsNoError() throws {
    let (sender, receiver) = try connectedPair()
    receiver.close()
    sender.send { WorkerMessage.nudge.append(to: &$0) }
    #expect(sender.flush())
    #expect(try sender.receive() == .closed([]))
  }

  /// Opening a pipe for writing waits for a reader.
  @Test func aRecordingIntoAPipeIsRefused() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/pipe"
    try #require(mkfifo(path, 0o600) == 0)
    let error = #expect(throws: FileError.self) { try ConversationRecorder(path: path) }
    #expect(error?.description.hasPrefix("\(path) is a named pipe") == true)
    // With a reader, too: it may stop reading.
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    #expect(throws: FileError.self) { try ConversationRecorder(path: path) }
    #expect(throws: FileError.self) { try ConversationRecorder(path: directory.path) }
  }

  /// Who made the link may have meant a file that others read.
  @Test func aRecordingMakesNoFileThroughALink() throws {
    let directory = try TemporaryDirectory()
    let (link, target) = (directory.path + "/link", directory.path + "/target")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    #expect(throws: FileError.self) { try ConversationRecorder(path: link) }
    #expect(access(target, F_OK) != 0)
    try Data().write(to: URL(fileURLWithPath: target))
    try ConversationRecorder(path: link).record("HELLO 2 index", by: .worker)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "< HELLO 2 index\n")
  }

  @Test func aRecordingReadsBack() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/recording.txt"
    try ConversationRecorder(path: path).record("HELLO 2 index", by: .worker)
    try #expect(String(contentsOfFile: path, encoding: .utf8).hasPrefix(ConversationRecorder.start))
    try FileManager.default.removeItem(atPath: path)
    let recorder = try ConversationRecorder(path: path)
    recorder.record("HELLO 2 index", by: .worker)
    var bytes: [UInt8] = []
    CoordinatorMessage.welcome(version: 2).append(to: &bytes)
    CoordinatorMessage.drain.append(to: &bytes)
    recorder.record(bytes, by: .coordinator)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text == "< HELLO 2 index\n> WELCOME 2\n> DRAIN\n")
    #expect(
      try Transcript(text).steps == [.worker("HELLO 2 index"), .coordinator("WELCOME 2"), .coordinator("DRAIN")])
  }

  @Test func whatIsInheritedIsPassedOnToNobody() throws {
    var pair: [Int32] = [0, 0]
    try #require(csystem_unix_socketpair(&pair) == 0)
    defer { for end in pair { close(end) } }
    try #require(fcntl(pair[0], F_SETFD, 0) == 0)
    #expect(try UnixSocket.inherited(pair[0]) == pair[0])
    #expect(fcntl(pair[0], F_GETFD) == FD_CLOEXEC)
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    for (number, reason) in [(file, ENOTSOCK), (-1, EBADF)] {
      #expect(throws: SystemCallError("getsockopt", number: reason)) { try UnixSocket.inherited(number) }
    }
  }
}
