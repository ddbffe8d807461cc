import Foundation
import TestFiles

/// `workerpool run` whose log the test reads by itself, line by line, or does not read.
final class StartingPool {
  let process = Process()
  let log: LineReader
  private let errors: FileHandle

  /// - Parameters:
  ///   - store: another store than that of the items.
  ///   - queue: another queue directory.
  ///   - through: a command with arguments that runs the command that follows.
  ///   - program: a copy of the built one.
  init(
    _ items: ItemPool, store: String? = nil, queue: String? = nil, workers: Int = 1, through: [String] = [],
    options: [String] = [],
    environment: [String: String] = [:], program: String = Built.path("workerpool")
  ) throws {
    let pipe = Pipe()
    errors = pipe.fileHandleForReading
    log = LineReader(errors)
    let command = through + [program]
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments =
      command.dropFirst() + [
        "run", "--workers", String(workers), "--store", store ?? items.store, "--model", items.model, "--queue",
        queue ?? items.queue, "--plugins", items.plugins, "--without-bundled",
      ] + options
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    try pipe.fileHandleForWriting.close()
  }

  deinit {
    if process.isRunning {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  /// The descriptor from which the log is read.
  var logDescriptor: Int32 { errors.fileDescriptor }

  /// Whether the kernel takes nothing more for the log until a process reads.
  var isLogFull: Bool {
    // The pipe's other end, which the pool holds (proc(5)).
    let end = open("/proc/self/fd/\(logDescriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(end) }
    var ready = pollfd(fd: end, events: Int16(POLLOUT), revents: 0)
    return poll(&ready, 1, 0) == 0
  }

  /// Reads the log up to the first line that contains the text, which it returns; `nil` when the pool ends before.
  func line(with text: String) -> String? {
    while let line = log.next() {
      if line.contains(text) { return line }
    }
    return nil
  }

  /// Reads what is still said, and returns it with the exit code.
  func end(_ signal: Int32? = nil) -> (code: Int32, lines: [String]) {
    if let signal { process.send(signal) }
    var lines: [String] = []
    while let line = log.next() { lines.append(line) }
    process.waitUntilExit()
    return (process.terminationStatus, lines)
  }
}
