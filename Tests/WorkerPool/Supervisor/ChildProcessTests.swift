import Foundation
import Glibc
import TestFiles
import Testing

@testable import WorkerPool

@Suite(.ownThreads) struct ChildProcessTests {
  /// The process starts another one in a session of its own, which holds the pipes and never stops writing:
  ///
  ///     child                     its child                  pool
  ///     starts the other
  ///                               leaves the group
  ///                               says so
  ///     exits
  ///                               writes without end
  ///                                                          sees the end, takes what is in the pipe, closes it
  @Test func theEndOfAProcessWaitsForNobodyWhoStillWritesToItsPipes() throws {
    let fifo = temporaryURL("left").path
    try #require(mkfifo(fifo, 0o600) == 0)
    defer { unlink(fifo) }
    let script = "setsid sh -c 'echo gone > \(fifo); exec yes' & read word < \(fifo); exit 3"
    let loop = try EventLoop()
    var death: Death?
    var lines = 0
    let process = try ChildProcess(
      .init(path: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"]), loop: loop,
      starter: ProcessStarter(loop: loop), onStart: { #expect($0 == nil) },
      onLine: { _ in lines += 1 }, onDeath: { death = $0 })
    while death == nil {
      let before = lines
      loop.turn(milliseconds: 10_000)
      #expect(lines - before <= 2 << 20, "a turn has an end")
    }
    #expect(death == .exited(code: 3))
    withExtendedLifetime(process) {}
  }

  @Test func aChildThatWritesWithoutEndHasItsShareOfATurn() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var lines = 0
    var death: Death?
    let process = try ChildProcess(
      .init(path: "/usr/bin/yes", environment: [:]), loop: loop, starter: ProcessStarter(loop: loop),
      onStart: { #expect($0 == nil) }, onLine: { _ in lines += 1 }, onDeath: { death = $0 })
    var letters = 0
    try loop.deliver(from: mailbox) { _ in letters += 1 }
    while lines < 100_000 {
      let before = (lines: lines, letters: letters)
      mailbox.post(1)
      loop.turn(milliseconds: 10_000)
      #expect(lines - before.lines <= 16_384)
      #expect(letters == before.letters + 1, "others are heard in each turn")
    }
    process.signal(SIGKILL)
    while death == nil { loop.turn(milliseconds: 10_000) }
    #expect(death == .signalled(SIGKILL))
  }
}
