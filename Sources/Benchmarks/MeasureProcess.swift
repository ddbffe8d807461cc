import CSystem
import Foundation

/// A measure in a process of its own: this executable again, which writes one row on each line of its standard output.
///
/// A measure that traps ends its own process and nothing else. Its standard error passes through, and its last words are the reason.
struct MeasureProcess {
  struct Outcome {
    var rows: [Row] = []
    /// Why the measure failed; nil if it did not.
    var failure: String?
  }

  /// Runs the measure to its end.
  static func run(_ name: String, _ options: Options) -> Outcome {
    do {
      return try MeasureProcess(options.arguments(for: name)).outcome()
    } catch {
      return Outcome(failure: "its process could not be started: \(error)")
    }
  }

  private let pid: pid_t
  private let output: ReadEnd
  private let errors: ReadEnd
  private let directory: String

  private init(_ arguments: [String]) throws {
    directory = try Self.makeDirectory()
    var environment = ProcessInfo.processInfo.environment
    // What a measure leaves behind when it traps goes with this directory.
    environment["TMPDIR"] = directory
    if environment["SWIFT_BACKTRACE"] == nil { environment["SWIFT_BACKTRACE"] = "enable=yes,color=no" }
    let (out, err) = (try Self.makePipe(), try Self.makePipe())
    defer {
      close(out.write)
      close(err.write)
    }
    pid = try Self.spawn(arguments, environment, output: out.write, errors: err.write)
    output = ReadEnd(out.read)
    errors = ReadEnd(err.read, copiesTo: STDERR_FILENO)
  }

  // MARK: The end

  private func outcome() -> Outcome {
    let pidfd = csystem_pidfd_open(pid)
    defer { close(pidfd) }
    var events = [output.descriptor, errors.descriptor, pidfd].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // Processes that the measure has started may keep the pipes open: its own end counts.
    while events[2].revents == 0, poll(&events, nfds_t(events.count), -1) >= 0 || errno == EINTR {
      for (index, end) in [output, errors].enumerated() where events[index].revents != 0 && !end.read() {
        events[index].fd = -1
      }
    }
    // All that the measure has left running in its group.
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    for end in [output, errors] { while end.read() {} }
    try? FileManager.default.removeItem(atPath: directory)
    return Outcome(rows: output.text.split(separator: "\n").compactMap { Row(line: $0) }, failure: failure(status))
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
    // Short: sockets lie below it.
    var template = Array((NSTemporaryDirectory() + "/bench-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard csystem_pipe(&ends) == 0, csystem_set_nonblocking(ends[0]) == 0 else {
      throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    return (ends[0], ends[1])
  }

  private static func spawn(
    _ arguments: [String], _ environment: [String: String], output: Int32, errors: Int32
  ) throws -> pid_t {
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    var argumentList = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for string in argumentList + variables { free(string) } }
    var pid: pid_t = 0
    let error = path.withCString { path in
      argumentList.withUnsafeMutableBufferPointer { arguments in
        variables.withUnsafeMutableBufferPointer { variables in
          var program = csystem_program()
          program.path = path
          program.arguments = UnsafePointer(arguments.baseAddress)
          program.environment = UnsafePointer(variables.baseAddress)
          program.standard_output = output
          program.standard_error = errors
          program.parent_death_signal = SIGKILL
          return csystem_spawn(&program, &pid)
        }
      }
    }
    guard error == 0 else { throw POSIXError(.init(rawValue: error) ?? .EIO) }
    return pid
  }
}

/// The end of a pipe that this process reads, and what came through it.
private final class ReadEnd {
  let descriptor: Int32
  private let copy: Int32?
  private var bytes: [UInt8] = []

  /// - Parameter copiesTo: a descriptor that gets all that is read at once.
  init(_ descriptor: Int32, copiesTo copy: Int32? = nil) {
    self.descriptor = descriptor
    self.copy = copy
  }

  deinit { close(descriptor) }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Reads what is there; false at the end of the file, and when there is nothing.
  func read() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    guard count > 0 else { return false }
    if let copy { _ = write(copy, buffer, count) }
    bytes += buffer[..<count]
    return true
  }
}

/// Makes a measure fail on purpose, so that a test sees what becomes of the others: `BENCHMARK_FAULT=insert:trap`, or `insert:throw`.
enum MeasureFault {
  private struct Wanted: Error {}

  static func occurIfWanted(in name: String) throws {
    let fault = ProcessInfo.processInfo.environment["BENCHMARK_FAULT"]
    if fault == "\(name):trap" { fatalError("BENCHMARK_FAULT asks for it") }
    if fault == "\(name):throw" { throw Wanted() }
  }
}
