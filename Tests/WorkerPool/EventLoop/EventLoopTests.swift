import CSystem
import Foundation
import Testing

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

  @Test func lettersOfOtherThreadsAreDeliveredInOrder() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var received: [Int] = []
    loop.deliver(from: mailbox) { [unowned loop] letter in
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
    loop.watch(one.descriptor, for: .readable) { [unowned loop] in
      calls += 1
      loop.unwatch(two.descriptor)
      loop.unwatch(one.descriptor)
    }
    loop.watch(two.descriptor, for: .readable) { [unowned loop] in
      calls += 1
      loop.unwatch(one.descriptor)
      loop.unwatch(two.descriptor)
    }
    one.post(1)
    two.post(1)
    loop.turn(milliseconds: 0)
    #expect(calls == 1)
  }

  @Test func filesThatComeIntoADirectoryAreNamed() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID().uuidString)")
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
