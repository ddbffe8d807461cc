import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Which lines of the log a person wants to see.
public struct LogFilter: Sendable {
  /// A job's URI, or the last part of it: `p17`.
  public var job: String?
  /// Only lines about this process; nil for all.
  public var pid: Int32?

  /// Makes a filter that leaves no line out.
  public init() {}

  /// Whether the line may match; cheap, since its JSON is not parsed.
  fileprivate func mayMatch(_ line: ArraySlice<UInt8>) -> Bool {
    guard let word = job ?? pid.map(String.init) else { return true }
    return Self.contains(line, Array(word.utf8))
  }

  private static func contains(_ line: ArraySlice<UInt8>, _ word: [UInt8]) -> Bool {
    guard let first = word.first, line.count >= word.count else { return word.isEmpty }
    return line.withUnsafeBytes { line in
      var start = 0
      while let next = line[start...].firstIndex(of: first), next + word.count <= line.count {
        if line[next..<(next + word.count)].elementsEqual(word) { return true }
        start = next + 1
      }
      return false
    }
  }

  fileprivate func matches(_ line: LogLine) -> Bool {
    if let pid, line.json["pid"]?.intValue != Int(pid) { return false }
    guard let job else { return true }
    return (line.json["jobs"]?.arrayValue ?? []).contains { uri in
      uri.stringValue == job || uri.stringValue?.hasSuffix("/\(job)") == true
    }
  }
}

/// A line of the log in the queue directory.
public struct LogLine: Sendable {
  /// The line as it stands in the file: `time`, `level`, `event`, `message`, and what it is about.
  public let json: JSONValue

  /// For people: time and message, fit for a terminal.
  public var text: String {
    let level = json["level"]?.stringValue ?? ""
    let mark = level == LogEvent.Level.info.rawValue ? "" : "\(level): "
    return TerminalText.escaped("\(json["time"]?.stringValue ?? "") \(mark)\(json["message"]?.stringValue ?? "")")
  }
}

/// Reads the log in a queue directory, whether a pool writes to it or not.
public final class LogReader {
  private let directory: LogDirectory
  private let filter: LogFilter
  /// The file that was read last, with what it holds of a line that is not complete.
  private var current: (descriptor: Int32, inode: UInt64)?
  private var partial: [UInt8] = []

  /// - Throws: ``LogReaderError`` when there is no log.
  public init(queue: String, filter: LogFilter) throws(LogReaderError) {
    directory = LogDirectory(queue: queue)
    self.filter = filter
    guard access(directory.newest, F_OK) == 0 else {
      throw LogReaderError(path: directory.newest, queue: queue, number: errno)
    }
  }

  deinit { if let current { close(current.descriptor) } }

  /// Hands over the lines that were added since the last call, the oldest first.
  public func read(_ body: (LogLine) throws -> Void) throws {
    try readToEnd(body)
    for file in newerFiles() {
      if let current { close(current.descriptor) }
      current = file
      partial = []
      try readToEnd(body)
    }
  }

  /// The files that were begun after the one that was read last, the oldest first. The log may be rotated meanwhile.
  private func newerFiles() -> [(descriptor: Int32, inode: UInt64)] {
    var files: [(descriptor: Int32, inode: UInt64)] = []
    for age in 0...LogDirectory.olderFiles {
      let descriptor = open(directory.file(age), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else { continue }
      var status = stat()
      let inode = fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
      if files.contains(where: { $0.inode == inode }) {
        close(descriptor)
      } else if inode == current?.inode {
        close(descriptor)
        break
      } else {
        files.append((descriptor, inode))
      }
    }
    return files.reversed()
  }

  private func readToEnd(_ body: (LogLine) throws -> Void) throws {
    guard let descriptor = current?.descriptor else { return }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      // What is there already has no end of a line.
      var searched = partial.count
      var start = 0
      partial += chunk[..<count]
      while let end = partial[searched...].firstIndex(of: 0x0A) {
        if let line = line(partial[start..<end]) { try body(line) }
        start = end + 1
        searched = start
      }
      partial.removeFirst(start)
    }
  }

  /// Nil for a line that does not match, or that a killed pool left incomplete.
  private func line(_ bytes: ArraySlice<UInt8>) -> LogLine? {
    // Nil says that the line is no JSON.
    guard filter.mayMatch(bytes), let json = try? JSONParser.parse(String(decoding: bytes, as: UTF8.self)) else {
      return nil
    }
    let line = LogLine(json: json)
    return filter.matches(line) ? line : nil
  }

  /// Calls ``read(_:)`` again and again without end: lines are handed over as they are written, also after the log was
  /// rotated, and by later pools.
  public func follow(_ body: (LogLine) throws -> Void) throws -> Never {
    let events = try FileEvents()
    try events.add(directory.path, mask: FileEvents.mask(IN_MODIFY, IN_CREATE, IN_MOVED_TO))
    while true {
      try read(body)
      var ready = pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&ready, 1, Self.longestSilence)
      _ = events.takeAll()
    }
  }

  /// Milliseconds after which the log is read even without an event: some file systems report no changes.
  private static let longestSilence: Int32 = 10_000
}

/// There is no log that can be read.
public struct LogReaderError: Error, Hashable, Sendable, CustomStringConvertible {
  let path: String
  let queue: String
  let number: Int32

  /// What is wrong, in one sentence.
  public var description: String {
    number == ENOENT || number == ENOTDIR
      ? "there is no log in \(path): no pool has run on \(queue) yet"
      : "\(path) cannot be read: \(String(cString: strerror(number)))"
  }
}
