import CSystem
import Foundation
import Jobs
import TestFiles
import Testing

@Suite(.serialized) struct DemoTests {
  @Test(.timeLimit(.minutes(20)))
  func theDemoGoesFromBeginningToEndWithoutATerminalAndLeavesNothing() throws {
    let place = try TestPlace()
    for number in 1...20 {
      let words = (1...400).map { "word\(String(repeating: "a", count: $0 % (number + 5)))" }
      try place.write(words.joined(separator: " \n"), to: "texts/\(number).txt")
    }
    try place.write("\u{0}binary", to: "texts/image.png")
    let finished = try workerpool("demo", place.path("texts"))
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(finished.output.contains("20 jobs submitted"))
    #expect(finished.output.contains("kill -9"))
    #expect(finished.output.contains("is replaced by worker"))
    #expect(finished.output.contains("all 20 jobs are done"))
    #expect(finished.output.contains("most frequent words"))
    let last = finished.output.split(separator: "\n").suffix(3)
    // The shell of the tests does not find the program, so the next commands name its path.
    #expect(last.first?.hasSuffix("/workerpool demo --keep \(ShellWord.quoted(place.path("texts")))") == true)
    #expect(last.dropFirst().first?.hasSuffix("/workerpool help run") == true)
    #expect(!finished.output.contains("\u{1B}"))
    let folder = try #require(finished.output.firstMatch(of: /[^ ]*workerpool-demo-[0-9a-f]+/))
    #expect(!FileManager.default.fileExists(atPath: String(folder.output)))
  }

  /// Whatever ends the demo, its pool does not outlive it.
  @Test(.timeLimit(.minutes(20)), arguments: [SIGINT, SIGKILL])
  func aDemoThatIsEndedTakesItsPoolAlong(signal: Int32) throws {
    let place = try TestPlace()
    for number in 1...50 {
      try place.write(String(repeating: "word \(number)\n", count: 2000), to: "texts/\(number).txt")
    }
    let demo = Process()
    demo.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    demo.arguments = ["demo", place.path("texts")]
    let pipe = Pipe()
    demo.standardOutput = pipe
    demo.standardError = FileHandle.nullDevice
    try demo.run()
    try pipe.fileHandleForWriting.close()
    let lines = LineReader(pipe.fileHandleForReading)
    let folder = try #require(lines.next()?.split(separator: " ").last.map(String.init))
    let pid = try #require(lines.next()?.split(separator: " ").dropFirst().first.flatMap { Int32($0) })
    // A descriptor of the pool's process becomes readable when it ends.
    let pool = csystem_pidfd_open(pid)
    try #require(pool >= 0)
    defer { close(pool) }
    demo.send(signal)
    demo.waitUntilExit()
    var ended = pollfd(fd: pool, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ended, 1, 60_000) == 1, "the pool still runs")
    if signal == SIGINT { #expect(!FileManager.default.fileExists(atPath: folder)) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test func aFolderWithoutTextIsAnError() throws {
    let place = try TestPlace()
    let finished = try workerpool("demo", place.url.path)
    #expect(finished.code == 1 && finished.errors.contains("there are no text files in"))
  }
}
