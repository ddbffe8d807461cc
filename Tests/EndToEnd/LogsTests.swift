import Foundation
import Testing

/// `workerpool logs`: what the pool and its workers said, also after they have ended.
@Suite(.serialized) struct LogsTests {
  private func logs(_ items: ItemPool, _ arguments: String...) throws -> Finished {
    try run(Built.path("workerpool"), ["logs", "--queue", items.queue] + arguments)
  }

  @Test(.timeLimit(.minutes(20)))
  func theLogOfAJobHoldsWhatItsWorkerWroteAndWhatHappenedToIt() throws {
    // Given a job that writes a line and crashes, and one that does nothing
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("crash")
    try items.submit("nothing")
    try pool.wait { $0.jobs?["dead"] == 1 && $0.jobs?["succeeded"] == 1 }
    // Then the log of the first has each line and each crash, while the pool runs and after it
    for isRunning in [true, false] {
      if !isRunning { try pool.stop() }
      let first = try logs(items, "p1")
      #expect(first.code == 0)
      #expect(first.lines.count { $0.contains("this job always crashes") } == 3, "\(first)")
      #expect(first.lines.count { $0.contains("error: x-coredata://") && $0.contains("crashed") } == 3, "\(first)")
      let second = try logs(items, "p2")
      #expect(second.output.isEmpty && second.errors.contains("no line of the log is about p2; "), "\(second)")
    }
    // And that of a process has its beginning and its end
    let died = try #require(try logs(items, "--json").lines.first { $0.contains("worker.died") })
    struct Line: Decodable { let pid: Int32 }
    let pid = try JSONDecoder().decode(Line.self, from: Data(died.utf8)).pid
    let process = try logs(items, "\(pid)", "--json").lines
    #expect(process.first?.contains("worker.started") == true && process.contains(died))
    #expect(try logs(items, "-n", "2").lines.count == 2)
    #expect(try logs(items, "nonsense").code == 2)
  }

  @Test(.timeLimit(.minutes(20)))
  func whoFollowsTheLogSeesThePoolsToCome() throws {
    // Given a command that follows the log of a pool that has ended
    let items = try ItemPool()
    try items.start().stop()
    let following = Process()
    following.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    following.arguments = ["logs", "--queue", items.queue, "--follow", "--lines", "1"]
    let output = Pipe()
    following.standardOutput = output
    try following.run()
    try output.fileHandleForWriting.close()
    defer {
      following.terminate()
      following.waitUntilExit()
    }
    let lines = LineReader(output.fileHandleForReading)
    #expect(lines.next()?.hasSuffix(" stopped") == true)
    // When another one runs
    let pool = try items.start()
    // Then its lines come as they are written
    var said: [String] = []
    while let line = lines.next() {
      said.append(line)
      if line.contains("running on") { break }
    }
    #expect(said.last?.contains("running on") == true)
    try pool.stop()
  }
}
