import CSystem
import WorkerKit
import WorkerProtocol

/// Runs a program for a job. The operator of the pool allows programs by name; they may be written in any language.
@main struct Exec: Worker {
  static let kind = "exec"
  static let summary = "Runs a program that exec.json in the queue directory allows"
  // exec.json decides which programs run, and nobody knows what they read. What they write is limited all the same.
  static let needs = WorkerNeeds(read: ["/"], execute: ["/"])

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let run = try prepare(job)
    let result = try run.run(stopDescriptor: job.stopDescriptor)
    if job.isStopRequested { throw ProgramStopped(result: result) }
    guard result.isSuccess else {
      throw ProgramFailure(command: run.name, result: result, permanentCodes: run.permanentCodes)
    }
    job.output = result.json.text
  }

  /// - Throws: `PermanentFailure` for what the job asks for, ``ExecError`` for what a person can mend in `exec.json`.
  private func prepare(_ job: Job) throws -> ProgramRun {
    guard let queue = ProcessInfo.processInfo.environment[.queue] else {
      throw PermanentFailure("the pool does not say where its queue directory is")
    }
    let parameters: ExecParameters
    do {
      parameters = try ExecParameters(try job.parameters)
    } catch {
      throw PermanentFailure("\(error)")
    }
    let command = try AllowedCommands(path: queue + "/exec.json").command(parameters.command)
    guard parameters.arguments.isEmpty || command.takesArguments else {
      throw PermanentFailure("exec.json does not let jobs give arguments to \"\(parameters.command)\"")
    }
    guard command.input == .event || parameters.event == nil && parameters.input != .event else {
      throw PermanentFailure("exec.json lets no job give an event to \"\(parameters.command)\": \"input\": \"event\"")
    }
    let input: [UInt8] =
      switch command.input == .event ? .event : parameters.input ?? command.input {
      case .none: []
      case .uris: Array(job.objectURIs.map { $0 + "\n" }.joined().utf8)
      case .objects: try ObjectLines.bytes(of: try job.objects())
      case .event: parameters.event.map { Array(($0.text + "\n").utf8) } ?? []
      }
    let arguments = (command.arguments + parameters.arguments).flatMap { $0 == "{objects}" ? job.objectURIs : [$0] }
    var environment = command.environment
    // The next pool recognises what a dead worker has left behind by the pool's identity and the worker's process ID.
    let passed =
      ["PATH", "HOME", "LANG", "TZ", "TMPDIR"] + [WorkerVariable.queue, .pool, .pid].map(\.rawValue)
    for name in passed
    where environment[name] == nil {
      environment[name] = ProcessInfo.processInfo.environment[name]
    }
    environment["WORKERPOOL_JOB"] = job.objectID.uriString
    return ProgramRun(
      name: parameters.command, path: command.path, arguments: arguments, environment: environment,
      directory: command.directory, input: input, permanentCodes: command.permanentCodes)
  }
}

/// Why a program cannot be run for a job now: the system or `exec.json` does not let it. The next attempt may succeed.
struct ExecError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The objects of a job as a program reads them: a JSON object on each line, with the URI as `objectID`.
enum ObjectLines {
  static func bytes(of objects: [NSManagedObject]) throws -> [UInt8] {
    var text = ""
    var values: [String: ObjectValues] = [:]
    for object in objects {
      let name = object.entity.name ?? ""
      let writer = try values[name] ?? ObjectValues(entity: object.entity)
      values[name] = writer
      var members = [JSONMember("objectID", .string(object.objectID.uriString))]
      members += zip(writer.names, writer.values(of: object)).map { JSONMember($0, $1) }
      text += JSONValue.object(members).text + "\n"
    }
    return Array(text.utf8)
  }
}
