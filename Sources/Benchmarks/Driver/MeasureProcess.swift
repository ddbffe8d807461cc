import CSystem
import Foundation
import LinuxSystem

/// A benchmark in a process of its own: this executable again, which writes one figure as JSON on each line of its
/// standard output.
///
/// A benchmark that traps ends only its own process. Its standard error passes through, and the last line of it is the
/// reason.
struct MeasureProcess {
  struct Outcome {
    var figures: [Figure] = []
    /// The reason why the benchmark failed; nil if it succeeded.
    var failure: String?
  }

  /// Runs the benchmark to its end.
  ///
  /// - Parameter program: the path of another build of this program; nil for this one.
  static func run(_ name: String, _ options: Options, program: String? = nil) -> Outcome {
    do {
      return try MeasureProcess(program ?? ownPath, options.arguments(for: name)).outcome()
    } catch {
      return Outcome(failure: "its process could not be started: \(error)")
    }
  }

  /// A figure as the line that the starting process reads.
  static func line(_ figure: Figure) throws -> String {
    String(decoding: try JSONEncoder().encode(figure), as: UTF8.self)
  }

  private let pid: pid_t
  private let output: ReadEnd
  private let errors: ReadEnd
  private let directory: String

  private static var ownPath: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }

  private init(_ path: String, _ arguments: [String]) throws {
    directory = try Self.makeDirectory()
    var environment = ProcessInfo.processInfo.environment
    // This directory is removed with everything that a trapping benchmark leaves in it.
    environment["TMPDIR"] = directory
    if environment["SWIFT_BACKTRACE"] == nil { environment["SWIFT_BACKTRACE"] = "enable=yes,color=no" }
    let (out, err) = (try PipeEnds(), try PipeEnds())
    for end in [out.reading, err.reading] { try end.makeNonBlocking() }
    let program = Program(path: path, arguments: arguments, environment: environment)
    pid = try program.start(output: out.writing, errors: err.writing)
    output = ReadEnd(out.reading)
    errors = ReadEnd(err.reading, copiesTo: STDERR_FILENO)
  }

  // MARK: The end

  private func outcome() throws -> Outcome {
    let process = try Descriptor.ofProcess(pid)
    var events = [output.descriptor, errors.descriptor, process].map {
      pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0)
    }
    // Processes that the benchmark started may keep the pipes open, so only its own end counts.
    while events[2].revents == 0, poll(&events, nfds_t(events.count), -1) >= 0 || errno == EINTR {
      for (index, end) in [output, errors].enumerated() where events[index].revents != 0 && !end.read() {
        events[index].fd = -1
      }
    }
    withExtendedLifetime(process) {}
    let status = OwnChildren.end(pid)
    for end in [output, errors] { while end.read() {} }
    // A directory that stays is a temporary one.
    try? FileManager.default.removeItem(atPath: directory)
    let figures = output.text.split(separator: "\n").compactMap {
      // Other lines than figures are the process's own output.
      try? JSONDecoder().decode(Figure.self, from: Data($0.utf8))
    }
    return Outcome(figures: figures, failure: failure(status))
  }

  private func failure(_ status: Int32) -> String? {
    let isExit = csystem_wait_status_exited(status) != 0
    if isExit, csystem_wait_status_code(status) == 0 { return nil }
    let end =
      isExit
      ? "it exited with code \(csystem_wait_status_code(status))"
      : Self.named(signal: csystem_wait_status_signal(status))
    let lines = errors.text.split(separator: "\n")
    let lastWords = lines.first { $0.contains("Fatal error") } ?? lines.last { !$0.allSatisfy(\.isWhitespace) }
    return lastWords.map { "\(end): \($0)" } ?? end
  }

  private static func named(signal: Int32) -> String {
    "it was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
  }

  // MARK: The start

  private static func makeDirectory() throws -> String {
    // A short path, since sockets are created below it.
    var template = Array((NSTemporaryDirectory() + "/bench-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// The end of a pipe that this process reads, and the bytes read so far.
private final class ReadEnd {
  let descriptor: Descriptor
  private let copy: Int32?
  private var bytes: [UInt8] = []

  /// - Parameter copiesTo: a descriptor that gets everything at once as it is read.
  init(_ descriptor: Descriptor, copiesTo copy: Int32? = nil) {
    self.descriptor = descriptor
    self.copy = copy
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Reads the available bytes. False at the end of the file and if there are none.
  func read() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor.number, &buffer, buffer.count)
    guard count > 0 else { return false }
    if let copy { _ = write(copy, buffer, count) }
    bytes += buffer[..<count]
    return true
  }
}

/// Makes a benchmark fail on purpose, so that a test sees what happens to the others: `BENCHMARK_FAULT=insert:trap`, or
/// `insert:throw`.
enum MeasureFault {
  private struct Wanted: Error {}

  static func occurIfWanted(in name: String) throws {
    let fault = ProcessInfo.processInfo.environment["BENCHMARK_FAULT"]
    if fault == "\(name):trap" { fatalError("BENCHMARK_FAULT asks for it") }
    if fault == "\(name):throw" { throw Wanted() }
  }
}
