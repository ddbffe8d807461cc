import CSystem
import Foundation
import Testing

/// The test's side of a place at which a worker waits for it: two named pipes.
final class StopPoint {
  let path: String
  private let arrived: Int32
  private let go: Int32

  init(_ place: TestPlace, name: String = "stop") throws {
    path = place.path(name)
    for pipe in [path + ".arrived", path + ".go"] { try #require(mkfifo(pipe, 0o600) == 0) }
    // Opened for both, so that nobody waits for the other end.
    arrived = open(path + ".arrived", O_RDWR | O_CLOEXEC)
    go = open(path + ".go", O_RDWR | O_CLOEXEC)
  }

  deinit {
    close(arrived)
    close(go)
  }

  /// Waits until a process has come here.
  func waitForArrival() throws -> WatchedProcess {
    var text = ""
    while !text.hasSuffix("\n") {
      var ready = pollfd(fd: arrived, events: Int16(POLLIN), revents: 0)
      try #require(poll(&ready, 1, 120_000) == 1, "nobody came to \(path)")
      var byte: UInt8 = 0
      if read(arrived, &byte, 1) == 1 { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    }
    return try WatchedProcess(try #require(Int32(text.dropLast())))
  }

  /// Whether a process has come here that nobody has waited for.
  var hasArrival: Bool {
    var ready = pollfd(fd: arrived, events: Int16(POLLIN), revents: 0)
    return poll(&ready, 1, 0) == 1
  }

  /// Lets one process go on that reads a line.
  func releaseReader() { _ = write(go, "\n", 1) }

  /// Lets one process go on.
  func release() {
    var byte: UInt8 = 1
    write(go, &byte, 1)
  }
}

/// A process whose end can be waited for, though it is no child.
final class WatchedProcess {
  let pid: Int32
  private let pidfd: Int32

  init(_ pid: Int32) throws {
    self.pid = pid
    pidfd = csystem_pidfd_open(pid)
    try #require(pidfd >= 0, "process \(pid) has ended already")
  }

  deinit { close(pidfd) }

  func kill9() { kill(pid, SIGKILL) }

  var isAlive: Bool {
    var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
    return poll(&ended, 1, 0) == 0
  }

  func waitForEnd() {
    var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ended, 1, 120_000) == 1, "process \(pid) lives on")
  }
}
