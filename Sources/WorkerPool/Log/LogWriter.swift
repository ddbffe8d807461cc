import Foundation
import Glibc
import LinuxSystem

/// Writes lines on a thread of its own, so that no caller waits for a reader or a disk.
///
/// Lines wait in a buffer of bounded size. Lines that find no room are counted, and a line in their place says how many
/// there were.
///
/// `@unchecked Sendable`: all variables are only touched while `condition` is locked.
final class LogWriter: @unchecked Sendable {
  /// Bytes of lines that wait at most.
  static let defaultCapacity = 4 << 20
  /// Bytes of one call of write(2).
  private static let chunk = 64 << 10

  /// Called on the thread with a piece of what waits, which may end within a line.
  private let sink: @Sendable ([UInt8]) -> Void
  private let capacity: Int
  private let leftOut: @Sendable (_ count: Int) -> String
  private let condition = MonotonicCondition()
  private var pending: [UInt8] = []
  /// The number of lines that were dropped since the last one that had room.
  private var omitted = 0
  private var isWriting = false
  private var hasThread = false

  /// Writes to a descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: where to write; it stays the caller's, and is not made non-blocking, since others may share it.
  ///   - capacity: bytes that wait at most. Default 4 MiB.
  ///   - leftOut: makes the line, without a newline, that says how many lines are missing.
  convenience init(
    descriptor: Int32, capacity: Int = defaultCapacity, leftOut: @escaping @Sendable (_ count: Int) -> String
  ) {
    self.init(capacity: capacity, sink: { LogWriter.writeAll($0, to: descriptor) }, leftOut: leftOut)
  }

  /// Writes to a function, which may block.
  init(
    capacity: Int, sink: @escaping @Sendable ([UInt8]) -> Void, leftOut: @escaping @Sendable (_ count: Int) -> String
  ) {
    self.capacity = capacity
    self.sink = sink
    self.leftOut = leftOut
  }

  /// Leaves a line, without a newline, to be written. Safe on any thread; never waits for the reader.
  func write(_ line: String) {
    condition.lock()
    defer { condition.unlock() }
    // After a gap there is room again when half of the buffer is written, so that gaps are few.
    guard pending.count + line.utf8.count < (omitted > 0 ? capacity / 2 : capacity) else {
      omitted += 1
      return
    }
    tellOmitted()
    append(line)
    startThread()
    condition.broadcast()
  }

  /// Waits until all lines are written, `timeout` seconds at most; returns whether they are.
  @discardableResult
  func flush(timeout: Double) -> Bool {
    let end = Clock.now + timeout
    condition.lock()
    defer { condition.unlock() }
    startThread()
    if !hasThread { writeHere() }
    while isWriting || !pending.isEmpty || omitted > 0 {
      if !condition.wait(until: end) { return false }
    }
    return true
  }

  // MARK: With the lock held

  private func append(_ line: String) {
    pending.append(contentsOf: line.utf8)
    pending.append(0x0A)
  }

  private func tellOmitted() {
    guard omitted > 0 else { return }
    append(leftOut(omitted))
    omitted = 0
  }

  /// Lines wait while the machine has no thread to give; the next line, or `flush`, tries again.
  private func startThread() {
    guard !hasThread, !pending.isEmpty else { return }
    // The error would be a line of the log, which waits for the thread.
    hasThread = (try? BackgroundThread.start("log") { [self] in run() }) != nil
  }

  /// Writes what waits on the caller's thread, since there is no other.
  private func writeHere() {
    tellOmitted()
    let bytes = pending
    pending = []
    condition.unlock()
    sink(bytes)
    condition.lock()
  }

  // MARK: The thread

  private func run() -> Never {
    // Signals are for the loop.
    var signals = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_SETMASK, &signals, nil)
    condition.lock()
    while true {
      if pending.isEmpty { tellOmitted() }
      guard !pending.isEmpty else {
        isWriting = false
        condition.broadcast()
        condition.wait()
        continue
      }
      isWriting = true
      let bytes = Array(pending.prefix(Self.chunk))
      pending.removeFirst(bytes.count)
      condition.unlock()
      sink(bytes)
      condition.lock()
    }
  }

  /// Blocks until the reader has taken everything. What cannot be written because the reader is gone is lost.
  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    var unwritten = bytes[...]
    while !unwritten.isEmpty {
      let count = unwritten.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        unwritten = unwritten.dropFirst(count)
      } else if errno == EAGAIN {
        // Another process that shares the descriptor has made it non-blocking.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
