import CSystem
import LinuxSystem
import WorkerKit

/// How a program ended, and what it said.
struct ProgramResult {
  /// What waitpid(2) reports.
  let status: Int32
  let output: BoundedText
  let errors: BoundedText

  var exitCode: Int? { csystem_wait_status_exited(status) != 0 ? Int(csystem_wait_status_code(status)) : nil }
  var signal: Int32? { exitCode == nil ? csystem_wait_status_signal(status) : nil }
  var isSuccess: Bool { exitCode == 0 }

  var lastErrors: [String] { errors.text.split(separator: "\n").suffix(AttemptFailure.kept).map(String.init) }

  /// The form that is kept with the job: with shorter texts where JSON needs more room for them than there is.
  var json: JSONValue {
    var limit = BoundedText.limit
    while true {
      let json = json(limit: limit)
      if limit == 0 || json.text.utf8.count <= Job.longestOutput { return json }
      limit /= 2
    }
  }

  private func json(limit: Int) -> JSONValue {
    let (output, errors) = (output.prefix(limit), errors.prefix(limit))
    var members: [JSONMember] = []
    if let exitCode { members.append(JSONMember("exitCode", .number(exitCode))) }
    if let signal { members.append(JSONMember("signal", .number(signal))) }
    members.append(JSONMember("stdout", .string(output.text)))
    members.append(JSONMember("stderr", .string(errors.text)))
    if output.isCut || errors.isCut { members.append(JSONMember("isCut", true)) }
    return .object(members)
  }
}

/// A program that did not exit with 0.
struct ProgramFailure: DetailedFailure, CustomStringConvertible {
  let command: String
  let result: ProgramResult
  var permanentCodes: Set<Int> = []

  var output: String? { result.json.text }
  var standardError: [String] { result.lastErrors }
  var signal: Int32? { result.signal }
  var isPermanent: Bool { result.exitCode.map(permanentCodes.contains) ?? false }

  var description: String {
    let end = result.exitCode.map { "exited with \($0)" } ?? "was ended by signal \(result.signal ?? 0)"
    return "\"\(command)\" \(end)" + (standardError.last.map { ": \($0)" } ?? "")
  }
}

/// A program that was ended because its job had to stop: its output until then is kept.
struct ProgramStopped: DetailedFailure, CustomStringConvertible {
  let result: ProgramResult

  var output: String? { result.json.text }
  var standardError: [String] { result.lastErrors }
  var signal: Int32? { result.signal }
  var isPermanent: Bool { false }
  var description: String { JobStopped().description }
}

/// The beginning of a text that may be endless.
struct BoundedText {
  static let limit = 24_000
  private var bytes: [UInt8] = []
  private(set) var isCut = false

  mutating func append(_ more: some Collection<UInt8>) {
    let room = Self.limit - bytes.count
    bytes += more.prefix(room)
    if more.count > room { isCut = true }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The first bytes of it.
  func prefix(_ count: Int) -> BoundedText {
    var text = BoundedText()
    text.append(bytes.prefix(count))
    text.isCut = isCut || bytes.count > count
    return text
  }
}

/// A program to be run once.
struct ProgramRun {
  let name: String
  let path: String
  let arguments: [String]
  let environment: [String: String]
  let directory: String?
  let input: [UInt8]
  let permanentCodes: Set<Int>

  /// Seconds that a program has after SIGTERM. The pool kills a worker that does not stop within five.
  private static let grace = 2.0

  /// Runs the program in a process group of its own, and all that it started is gone when this returns.
  ///
  /// When `stopDescriptor` becomes readable the program gets SIGTERM, and SIGKILL two seconds later. When this process
  /// dies the kernel kills the program.
  func run(stopDescriptor: Int32) throws -> ProgramResult {
    let (pid, pipes) = try start()
    let process: Descriptor
    do throws(SystemCallError) {
      process = try Descriptor.ofProcess(pid)
    } catch {
      // Out of descriptors: a program whose end cannot be observed is ended.
      OwnChildren.end(pid)
      throw ExecError("\(path) cannot be observed: \(String(cString: strerror(error.number)))")
    }
    var output = BoundedText()
    var errors = BoundedText()
    var unsentInput = input[...]
    if unsentInput.isEmpty { pipes.input = nil }
    var killAt: Double?
    while true {
      var watched = [
        pipes.output?.number, pipes.errors?.number, process.number, killAt == nil ? stopDescriptor : nil,
      ].map { pollfd(fd: $0 ?? -1, events: Int16(POLLIN), revents: 0) }
      watched.append(pollfd(fd: pipes.input?.number ?? -1, events: Int16(POLLOUT), revents: 0))
      let wait = killAt.map { max(0, ($0 - Clock.now) * 1000).rounded(.up) } ?? -1
      guard poll(&watched, 5, Int32(min(wait, 1e6))) >= 0 || errno == EINTR else { break }
      if watched[0].revents != 0 { Self.drain(&pipes.output, into: &output) }
      if watched[1].revents != 0 { Self.drain(&pipes.errors, into: &errors) }
      if watched[4].revents != 0 { Self.feed(&unsentInput, &pipes.input) }
      if watched[2].revents != 0 { break }
      if let time = killAt {
        if Clock.now >= time { break }
      } else if watched[3].revents != 0 {
        kill(-pid, SIGTERM)
        killAt = Clock.now + Self.grace
      }
    }
    withExtendedLifetime(process) {}
    let status = OwnChildren.end(pid)
    // Processes that the program left behind in other groups have become this process's children.
    OwnChildren.endAll()
    Self.drain(&pipes.output, into: &output)
    Self.drain(&pipes.errors, into: &errors)
    return ProgramResult(status: status, output: output, errors: errors)
  }

  /// This side's ends of the program's pipes; nil when closed. An object, so that no copy keeps them open.
  private final class Pipes {
    var input: Descriptor?
    var output: Descriptor?
    var errors: Descriptor?

    init(input: Descriptor, output: Descriptor, errors: Descriptor) {
      self.input = input
      self.output = output
      self.errors = errors
    }
  }

  private func start() throws(ExecError) -> (pid_t, Pipes) {
    do throws(SystemCallError) {
      let (input, output, errors) = (try PipeEnds(), try PipeEnds(), try PipeEnds())
      for end in [input.writing, output.reading, errors.reading] { try end.makeNonBlocking() }
      var program = Program(path: path, arguments: arguments, environment: environment)
      program.directory = directory
      let pid = try program.start(input: input.reading, output: output.writing, errors: errors.writing)
      return (pid, Pipes(input: input.writing, output: output.reading, errors: errors.reading))
    } catch {
      throw ExecError(
        directoryProblem ?? "\(path) cannot be run: \(error.detail ?? String(cString: strerror(error.number)))")
    }
  }

  /// Why the program cannot start in its directory; nil if that is not the reason.
  private var directoryProblem: String? {
    guard let directory else { return nil }
    // A file before the last slash is ENOTDIR.
    guard access(directory + "/", X_OK) != 0 else { return nil }
    return
      "the directory \(directory) of the command \"\(name)\" cannot be entered: \(String(cString: strerror(errno)))"
  }

  private static func drain(_ pipe: inout Descriptor?, into text: inout BoundedText) {
    guard let number = pipe?.number else { return }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(number, &buffer, buffer.count)
      if count > 0 {
        text.append(buffer[..<count])
        continue
      }
      if count < 0, errno == EINTR { continue }
      if count == 0 { pipe = nil }
      return
    }
  }

  private static func feed(_ input: inout ArraySlice<UInt8>, _ pipe: inout Descriptor?) {
    guard let number = pipe?.number else { return }
    let count = input.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
    if count > 0 { input = input.dropFirst(count) }
    // A program need not read its input.
    if input.isEmpty || (count < 0 && errno != EAGAIN && errno != EINTR) { pipe = nil }
  }
}
