import CSystem
import Foundation
import Glibc
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

@Suite struct EventLoopTests {
  @Test func timersFireInTheOrderOfTheirTimes() throws {
    let loop = try EventLoop()
    var fired: [Int] = []
    loop.timers.after(0.02) { [unowned loop] in
      fired.append(2)
      loop.stop()
    }
    loop.timers.after(0.001) { fired.append(1) }
    let cancelled = loop.timers.after(0.005) { fired.append(0) }
    loop.timers.cancel(cancelled)
    loop.run()
    #expect(fired == [1, 2])
  }

  /// Given a timer that can wait, when another one fires, then both run in one turn. Alone it runs at the end of its
  /// leeway.
  @Test func aTimerWithALeewayRunsTogetherWithAnother() throws {
    let loop = try EventLoop()
    var fired: [String] = []
    loop.timers.after(0.001, leeway: 3600) { fired.append("patient") }
    let cancelled = loop.timers.after(0, leeway: 3600) { fired.append("cancelled") }
    loop.timers.after(3600, leeway: 3600) { fired.append("early") }
    loop.timers.cancel(cancelled)
    loop.timers.after(0.02) { fired.append("exact") }
    loop.turn(milliseconds: -1)
    #expect(fired == ["exact", "patient"])
    let start = Date()
    loop.timers.after(0.001, leeway: 0.05) { fired.append("alone") }
    loop.turn(milliseconds: -1)
    #expect(fired.last == "alone")
    #expect(Date().timeIntervalSince(start) >= 0.05)
  }

  @Test func lettersOfOtherThreadsAreDeliveredInOrder() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var received: [Int] = []
    try loop.deliver(from: mailbox) { [unowned loop] letter in
      received.append(letter)
      if received.count == 1000 { loop.stop() }
    }
    let thread = Thread { for number in 0..<1000 { mailbox.post(number) } }
    thread.start()
    loop.run()
    #expect(received == Array(0..<1000))
  }

  @Test func aHandlerRemovedEarlierInTheSameTurnIsNotCalled() throws {
    let loop = try EventLoop()
    let one = try Mailbox<Int>()
    let two = try Mailbox<Int>()
    var calls = 0
    try loop.watch(one.descriptor, for: .readable) { [unowned loop] in
      calls += 1
      loop.unwatch(two.descriptor)
      loop.unwatch(one.descriptor)
    }
    try loop.watch(two.descriptor, for: .readable) { [unowned loop] in
      calls += 1
      loop.unwatch(one.descriptor)
      loop.unwatch(two.descriptor)
    }
    one.post(1)
    two.post(1)
    loop.turn(milliseconds: 0)
    #expect(calls == 1)
  }

  @Test func aPostponedHandlerRunsInTheNextTurnBesideTheEvents() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var story: [String] = []
    try loop.deliver(from: mailbox) { story.append("letter \($0)") }
    func again(_ count: Int) {
      story.append("share \(count)")
      if count < 3 { loop.inNextTurn { again(count + 1) } }
    }
    again(1)
    mailbox.post(7)
    // Neither waits: there is something to do.
    loop.turn(milliseconds: -1)
    loop.turn(milliseconds: -1)
    #expect(story == ["share 1", "letter 7", "share 2", "share 3"])
  }

  @Test func aFullMailboxIsEmptiedInSeveralTurns() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var received: [Int] = []
    try loop.deliver(from: mailbox) { received.append($0) }
    for number in 0..<100 { mailbox.post(number) }
    loop.turn(milliseconds: -1)
    #expect(received == Array(0..<EventLoop.lettersPerTurn))
    loop.turn(milliseconds: -1)
    #expect(received == Array(0..<100))
  }

  /// As when the kernel is out of memory: a regular file is something else that epoll refuses (epoll_ctl(2), EPERM).
  @Test func aDescriptorThatCannotBeWatchedIsAnErrorAndTheLoopGoesOn() throws {
    let loop = try EventLoop()
    let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let error = #expect(throws: SystemCallError.self) { try loop.watch(file, for: .readable) {} }
    #expect(error?.call == "epoll_ctl" && error?.number == EPERM)
    loop.unwatch(file)
    let mailbox = try Mailbox<Int>()
    var received: [Int] = []
    try loop.deliver(from: mailbox) { received.append($0) }
    mailbox.post(1)
    loop.turn(milliseconds: 1000)
    #expect(received == [1])
  }

  @Test func filesThatComeIntoADirectoryAreNamed() throws {
    let directory = temporaryURL("watch")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let watch = try DirectoryWatch(directory.path)
    #expect(watch.collect() == .init())
    let outside = directory.deletingLastPathComponent().appendingPathComponent("outside-\(UUID().uuidString)")
    try Data("x".utf8).write(to: outside)
    #expect(rename(outside.path, directory.path + "/a.json") == 0)
    #expect(watch.collect() == .init(names: ["a.json"]))
    try FileManager.default.removeItem(at: directory)
    #expect(watch.collect().needsScan)
  }
}
