import Foundation
import Glibc
import TestFiles
import Testing

@testable import WorkerPool

@Suite struct ServiceManagerTests {
  /// A sign of life that finds the queue full is followed by another. That the pool is ready is said once, and is not
  /// lost.
  @Test func aStateThatFindsTheManagersQueueFullIsToldWhenItHasRoom() throws {
    // Given a manager that does not read, with a full queue
    let folder = temporaryURL("notify")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("socket").path
    let listener = try listener(at: path)
    defer { close(listener) }
    let manager = try #require(ServiceManager(["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000000"]))
    for _ in 0..<10_000 { manager.giveSignOfLife() }
    let loop = try EventLoop()
    manager.watch(loop)
    // When the pool is ready, and then stops
    manager.ready()
    manager.stopping(within: 5)
    // Then it says so, in this order, as soon as the manager reads
    var said: [String] = []
    func read() {
      said += messages(at: listener)
      if said.contains(where: { $0.hasPrefix("STOPPING=1") }) { return loop.stop() }
      loop.timers.after(0.01) { read() }
    }
    read()
    loop.run()
    #expect(said.filter { !$0.contains("WATCHDOG") } == ["READY=1", "STOPPING=1\nEXTEND_TIMEOUT_USEC=5000000"])
  }

  private func listener(at path: String) throws -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    return listener
  }

  /// What is in the queue now.
  private func messages(at listener: Int32) -> [String] {
    var messages: [String] = []
    var buffer = [UInt8](repeating: 0, count: 256)
    while true {
      let count = recv(listener, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count < 0 { return messages }
      messages.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}
