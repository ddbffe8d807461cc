import LinuxSystem
import WorkerKit

/// What a job of the kind `exec` says in its parameters.
struct ExecParameters {
  /// What a program finds on its standard input.
  enum Input: String, CaseIterable {
    case none
    /// The URIs of the job's objects, one on each line.
    case uris
    /// The job's objects, a JSON object on each line.
    case objects
    /// What a hook tells of, a JSON object on one line. Only `exec.json` may say so: a program that runs what it reads
    /// would otherwise run the texts of all who may submit jobs.
    case event
  }

  let command: String
  let arguments: [String]
  let input: Input?
  /// What a hook tells of, for a command that reads events.
  let event: JSONValue?

  init(_ parameters: JSONValue) throws(JSONFieldError) {
    var fields = try JSONFields(parameters, named: "the parameters")
    command = try fields.requiredString("command")
    arguments = try fields.strings("arguments") ?? []
    input = try fields.choice("input")
    event = fields.value("event")
    try fields.finish()
    if let event {
      guard case .object = event else { throw JSONFieldError("\"event\" in the parameters must be an object") }
    }
    if arguments.contains(where: { $0.utf8.contains(0) }) {
      throw JSONFieldError("\"arguments\" in the parameters cannot have a zero byte")
    }
  }
}

/// The programs that jobs may run, by name: `exec.json` in the queue directory.
///
///     {"commands": {"thumbnail": {"path": "/usr/local/bin/thumbnail", "arguments": ["--size", "256", "{objects}"],
///       "jobArguments": false, "input": "objects", "environment": {"MODE": "fast"}, "directory": "/tmp",
///       "permanentCodes": [64]}}}
struct AllowedCommands {
  /// A program, and how it is called.
  struct Command {
    let path: String
    let arguments: [String]
    /// Whether jobs may add arguments. Default `false`: arguments can make many programs do anything.
    let takesArguments: Bool
    let input: ExecParameters.Input
    let environment: [String: String]
    let directory: String?
    /// Exit codes after which another attempt cannot help.
    let permanentCodes: Set<Int>
  }

  private let path: String
  private let commands: [JSONMember]

  /// Reads the file, which only the pool's user and root may have written.
  ///
  /// - Throws: ``ExecError``. A person can mend the file, so a later attempt may succeed.
  init(path: String) throws(ExecError) {
    self.path = path
    let bytes = try Self.read(path)
    do {
      var parser = JSONParser(bytes)
      var fields = try JSONFields(try parser.value(), named: "exec.json")
      guard case .object(let members)? = fields.value("commands") else {
        throw JSONFieldError("\"commands\" is missing in exec.json, or no object")
      }
      try fields.finish()
      commands = members
    } catch {
      throw ExecError("\(path): \(error)")
    }
  }

  /// The command with this name. A mistake in another command concerns other jobs only.
  ///
  /// - Throws: ``ExecError`` for a mistake in it, `PermanentFailure` when there is none with this name.
  func command(_ name: String) throws -> Command {
    guard let member = commands.last(where: { $0.name == name }) else {
      let hint = Spelling.hint(to: name, among: commands.map(\.name), .quotes)
      throw PermanentFailure("exec.json allows no command \"\(name)\"\(hint)")
    }
    do {
      return try Self.command(member)
    } catch {
      throw ExecError("\(path): \(error)")
    }
  }

  private static func command(_ member: JSONMember) throws(JSONFieldError) -> Command {
    let name = "the command \"\(member.name)\""
    var fields = try JSONFields(member.value, named: name)
    let path = try fields.requiredPath("path")
    let arguments = try fields.strings("arguments") ?? []
    let takesArguments = try fields.bool("jobArguments") ?? false
    let input = try fields.choice("input", ExecParameters.Input.self) ?? .none
    var environment: [String: String] = [:]
    if let value = fields.value("environment") {
      guard let variables = value.objectValue else {
        throw JSONFieldError("\"environment\" in \(name) must be an object")
      }
      for variable in variables {
        guard let text = variable.value.stringValue else {
          throw JSONFieldError("\"environment\" in \(name) must hold strings")
        }
        environment[variable.name] = text
      }
    }
    let directory = try fields.path("directory")
    var codes: [Int] = []
    if let value = fields.value("permanentCodes") {
      let numbers = value.arrayValue?.map(\.intValue) ?? [nil]
      codes = numbers.compactMap(\.self).filter((1...255).contains)
      guard codes.count == numbers.count else {
        throw JSONFieldError("\"permanentCodes\" in \(name) must be an array of numbers from 1 to 255")
      }
    }
    try fields.finish()
    return Command(
      path: path, arguments: arguments, takesArguments: takesArguments, input: input, environment: environment,
      directory: directory, permanentCodes: Set(codes))
  }

  private static let largest = 1 << 20

  private static func read(_ path: String) throws(ExecError) -> [UInt8] {
    let file: GuardedFile
    let bytes: [UInt8]
    do throws(GuardedFile.Refusal) {
      file = try GuardedFile(path, path: path)
      bytes = try file.bytes(atMost: largest)
    } catch {
      throw ExecError("\(path), which says what jobs may run, \(error)")
    }
    guard file.isOwn, file.status.st_mode & 0o022 == 0 else {
      throw ExecError(
        "\(path) could have been written by others: it must belong to the pool's user, with mode 0644 or less "
          + "(chmod go-w)")
    }
    return bytes
  }
}
