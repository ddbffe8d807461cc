import CoreData
import Foundation
import Jobs
import LinuxSystem
import PoolClient
import StoreTools
import WorkerPool
import WorkerProtocol

let tryCommand = CommandDescription(
  name: "try", summary: "Run a job on a copy of the store, show what it does, and throw the copy away",
  discussion: """
    Copies the store into a temporary directory, runs one attempt of the job there in one worker process, and shows how
    it ends, its output, what its process printed, and the objects that it inserted, updated and deleted. The store, its
    jobs and a pool that runs on it stay as they are; no pool is needed. Effects outside of the store are real: files
    that the job writes, programs that it starts, messages that it sends.

      workerpool try import --set file=/data/countries.json --set entity=Country --store app.sqlite
      workerpool try p17
    """,
  operands: [
    Operand(name: "KIND", help: "the kind of the job; or a job of the store: p17, or its whole URI"),
    Operand(
      name: "URI", help: "the objects of the job; all of them make one job", isOptional: true, isRepeating: true),
  ],
  options: [
    CommandOption(
      name: "plugins", value: "DIR",
      help: "look here for worker-NAME executables, before those beside workerpool; may be repeated",
      isRepeating: true),
    CommandOption(
      name: "env", value: "NAME", help: "pass this variable on to the worker, which gets few others; may be repeated",
      isRepeating: true),
    CommandOption(name: "json", help: "print a JSON object: the job, its changes, and the lines of its process"),
    CommonOptions.store, CommonOptions.model, CommonOptions.queue,
  ] + parameterOptions,
  run: tryJob)

@Sendable private func tryJob(_ arguments: ParsedArguments) throws -> ExitCode {
  let place = StorePlace(try arguments.storePath())
  try StoreReader.requireStore(place.text)
  guard !place.isServer else {
    throw UsageError(
      "`workerpool try` copies a SQLite file, and \(place) is at a server: make a copy with `workerpool copy --store "
        + "URL --to copy.sqlite` while no pool runs there, or from a restored backup, and try the job on that")
  }
  Interruption.catchSignals()
  // The copy is as private as a pool's files.
  umask(0o077)
  do {
    let trial = try TrialPlace(copying: place, model: try arguments.modelPath(), arguments)
    defer { trial.remove() }
    return try trial.run(arguments)
  } catch is CancellationError {
    Output.error("workerpool try: interrupted before the job ran\n")
    return .failure
  }
}

/// A temporary directory with a copy of a store and a queue directory.
private struct TrialPlace {
  private let directory: LockedDirectory
  private let original: StorePlace
  private var configuration: PoolConfiguration

  init(copying place: StorePlace, model: String?, _ arguments: ParsedArguments) throws {
    original = place
    directory = try Self.makeDirectory()
    let store = URL(fileURLWithPath: directory.path).appendingPathComponent("store.sqlite")
    let queue = directory.path + "/queue"
    configuration = PoolConfiguration(store: store.path, model: model ?? store.path, queue: queue, workers: 1)
    configuration.pluginDirectories = arguments.strings("plugins") + configuration.pluginDirectories
    configuration.passedVariables = Set(arguments.strings("env"))
    do {
      try QueueLayout(root: queue).create()
      // What jobs of the kind exec may start.
      let commands = arguments.queue + "/exec.json"
      if FileManager.default.fileExists(atPath: commands) {
        try FileManager.default.copyItem(atPath: commands, toPath: queue + "/exec.json")
      }
      try StoreMaintenance(url: place.url).backUp(to: store) { _, _ in
        if Interruption.isRequested { throw CancellationError() }
      }
    } catch {
      remove()
      throw error
    }
  }

  private static let namePrefix = "workerpool-try-"

  /// A new directory. Those that killed processes of this user have left are removed first.
  private static func makeDirectory() throws -> LockedDirectory {
    let place = FileManager.default.temporaryDirectory
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    LockedDirectory.removeAbandoned(in: place.path) { $0.hasPrefix(namePrefix) }
    return try LockedDirectory(mode: 0o700) {
      place.appendingPathComponent(namePrefix + UUID().uuidString.prefix(8).lowercased()).path
    }
  }

  func remove() { directory.remove() }

  func run(_ arguments: ParsedArguments) throws -> ExitCode {
    let store = try JobStore(
      url: StorePlace(configuration.store).url, model: try ModelLoader.load(configuration.model),
      options: [NSPersistentStoreMustExistOption: true])
    let context = store.makeContext(name: "try")
    let (job, kind, timeout) = try context.performAndWait { () -> (NSManagedObjectID, String, Double?) in
      let job = try makeJob(arguments, store, context)
      try context.save()
      return (job.objectID, job.kind, job.timeout)
    }
    guard let uri = job.objectURI else { throw UsageError("the job was not saved") }
    var configuration = configuration
    configuration.keptKinds = [kind]
    let trial = WorkerTrial(configuration)
    let plugin = try trial.plugin(for: kind, isInterrupted: { Interruption.isRequested })
    Output.error(
      "running \(uri.name), a job of the kind \(kind), in \(plugin.path) on a copy of \(original); "
        + "its effects outside of the store are real\n"
        + (plugin.name == "exec"
          ? "the command of a job of the kind exec runs as in a pool: only the store is a copy\n" : ""))
    var progress = ProgressLine()
    defer { progress.clear() }
    let (outcome, printed) = try trial.run(
      uri, in: plugin.path, timeout: timeout ?? plugin.timeout, isInterrupted: { Interruption.isRequested }
    ) { done, total in
      progress.show("\(done) of \(total) done", done: done, of: total)
    }
    progress.clear()
    return try context.performAndWait {
      context.reset()
      guard let job = try context.existingObject(with: job) as? Job else { return .failure }
      try tell(job, outcome, printed, submitted: try newJobs(after: uri.key, store, context), arguments)
      return outcome == .ended && job.state == .succeeded ? .success : .failure
    }
  }

  /// The job of the store that the arguments name, ready to run, or a new one.
  private func makeJob(_ arguments: ParsedArguments, _ store: JobStore, _ context: NSManagedObjectContext) throws -> Job
  {
    let word = arguments.operands[0]
    let key = ObjectURI(word).map { store.jobURIs.key($0) ?? 0 } ?? ObjectURI.key(name: word)
    guard let key else { return try insert(try jobRequest(arguments), store, context) }
    guard let job = try store.jobs(keys: [key], in: context).first else {
      throw UsageError("there is no job \(word) in \(original)")
    }
    // Only those of this attempt are shown.
    try JobStore.forgetChanges(of: [job], in: context)
    switch job.state {
    case .available: return job
    case .succeeded:
      // It cannot run again, so one like it does.
      return try insert(
        JobRequest(kind: job.kind, objects: job.objectURIs, parameters: job.parametersText), store, context)
    default:
      try job.markRetried()
      return job
    }
  }

  private func insert(
    _ request: JobRequest, _ store: JobStore, _ context: NSManagedObjectContext
  ) throws -> Job {
    guard let job = try store.insert([request], into: context).first else { throw UsageError("no job was made") }
    return job
  }

  /// The kinds of the jobs that the job submitted.
  private func newJobs(
    after key: JobKey, _ store: JobStore, _ context: NSManagedObjectContext
  ) throws -> [String] {
    guard let id = store.objectID(job: key) else { return [] }
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "self > %@", id)
    return try context.fetch(request).map(\.kind)
  }

  // MARK: What it did

  private func tell(
    _ job: Job, _ outcome: WorkerTrial.Outcome, _ printed: [String], submitted: [String],
    _ arguments: ParsedArguments
  ) throws {
    let effects = try JobEffects(job)
    guard !arguments.has("json") else {
      let members = JobText.json(job).objectValue ?? []
      let more = [
        JSONMember("submitted", .array(submitted.map(JSONValue.string))),
        JSONMember("log", .array(printed.map(JSONValue.string))),
      ]
      return Output.line(JSONValue.object(members + effects.members + more).text)
    }
    switch outcome {
    case .ended:
      JobText.end(job).forEach(Output.line)
      if let failure = job.failures.last, job.state != .succeeded, job.state != .dead {
        Output.line(TerminalText.escaped("\(failure.type): \(failure.message)"))
      }
    case .returned: Output.line("\(job.objectID.uriString) was given back without an attempt")
    case .died(let death): Output.line("the worker process \(death) while the job ran; what it had not saved is gone")
    case .interrupted: Output.line("interrupted")
    }
    if !printed.isEmpty {
      (["", "what its process printed"] + printed.map { TerminalText.escaped("  \($0)") }).forEach(Output.line)
    }
    (["", "what it changed"] + (effects.saves.isEmpty ? ["nothing"] : effects.lines(kind: job.kind)).map { "  \($0)" })
      .forEach(Output.line)
    if !submitted.isEmpty {
      Output.line("")
      Output.line("submitted \(Plural.text(submitted.count, "job")), which did not run: \(kinds(submitted))")
    }
    Output.line("")
    Output.line("\(original) is as it was: the copy is deleted")
  }

  private func kinds(_ kinds: [String]) -> String {
    let counts = Dictionary(grouping: kinds) { $0 }.mapValues(\.count)
    return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
