import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// The values without options: the library's own defaults.
private let defaults = PoolConfiguration(store: "", model: "", queue: "")

private func wholeText(_ number: Double?) -> String? { number.map { String(Int($0)) } }
private func text(_ number: Int?) -> String? { number.map(String.init) }

/// Jobs hold parameters and the store an app's data: both are for the pool's user alone.
private let defaultMask: mode_t = 0o077

private func octal(_ mask: mode_t) -> String { "0" + String(mask, radix: 8) }

let runCommand = CommandDescription(
  name: "run", summary: "Run a pool: keep worker processes alive and hand jobs to them",
  discussion: """
    Runs until it is told to stop: SIGTERM and SIGINT let running jobs finish first (a second one does
    not wait), SIGHUP searches for plugins again, SIGTTIN and SIGTTOU mean one worker more or less,
    SIGQUIT ends everything at once. The log goes to standard error.

      workerpool run --workers 4 --store app.sqlite --model App.xcdatamodeld --queue queue/
    """,
  options: poolOptions + jobOptions + retentionOptions + accessOptions + timeOptions + workerOptions + reportOptions,
  run: run)

/// What a pool runs on.
private let poolOptions = [
  CommandOption(
    name: "config", value: "FILE",
    help:
      "read options from this file, one on each line: its name without the dashes, then its value; a line "
      + "that begins with # is a comment; an option of the command line replaces the file's"),
  CommandOption(
    name: "workers", value: "N",
    help: "worker processes in all; NAME=K keeps K of them for one plugin; may be repeated",
    defaultText: text(defaults.workers), isRepeating: true),
  CommandOption(
    name: "store", value: "FILE",
    help: "the SQLite store, or the URL of a PostgreSQL database, postgresql://USER@HOST/DATABASE, which pools of "
      + "several hosts may share; made if it is not there yet"),
  CommandOption(
    name: "model", value: "PATH",
    help: "its model: .xcdatamodeld, .xcdatamodel or .momd; without it, the copy that the store keeps"),
  CommandOption(
    name: "migrate", help: "migrate a store of an older model at the start; a backup is made beside it"),
  CommonOptions.queue,
]

/// Which jobs start, and how many at a time.
private let jobOptions = [
  CommandOption(
    name: "plugins", value: "DIR",
    help:
      "look here for worker-NAME executables, before those beside workerpool; the first directory that has a name "
      + "wins; may be repeated",
    isRepeating: true),
  CommandOption(name: "without-bundled", help: "use no plugins beside workerpool, only those of --plugins"),
  CommandOption(
    name: "weight", value: "QUEUE=N",
    help:
      "give a queue N shares of what is started, where all queues without a weight have 1 together; may be repeated",
    defaultText: "priority decides alone", isRepeating: true),
  CommandOption(
    name: "limit", value: "KIND=N",
    help:
      "run at most N jobs of a kind at a time; queue:NAME=N: of a queue, or of each queue that matches NAME with * "
      + "in it; may be repeated",
    defaultText: "the plugin's own", isRepeating: true),
  CommandOption(
    name: "rate", value: "KIND=N/SECONDS", help: "start at most N jobs of a kind in SECONDS; may be repeated",
    defaultText: "the plugin's own", isRepeating: true),
  CommandOption(
    name: "job-cpu", value: "KIND=SECONDS",
    help: "the most processor time that an attempt of a job of a kind may use; may be repeated",
    defaultText: "the plugin's own", isRepeating: true),
]

/// How long jobs stay in the store.
private let retentionOptions = [
  CommandOption(
    name: "keep", value: "DAYS", help: "delete succeeded and cancelled jobs after DAYS",
    defaultText: wholeText(defaults.retention.finished.map { $0 / 86_400 })),
  CommandOption(
    name: "keep-dead", value: "DAYS", help: "delete dead jobs after DAYS",
    defaultText: wholeText(defaults.retention.dead.map { $0 / 86_400 })),
  CommandOption(
    name: "keep-count", value: "N", help: "keep the last N succeeded and the last N cancelled jobs",
    defaultText: text(defaults.retention.count)),
  CommandOption(
    name: "keep-changes", value: "KIND,KIND",
    help: "keep what jobs of these kinds change in the app's objects, for `jobs show --changes` and `undo`; may be "
      + "repeated",
    isRepeating: true),
]

/// What other users may do.
private let accessOptions = [
  CommandOption(
    name: "allow-group",
    help:
      "take job files of other users, too, if their group is the pool's, and only the group may write them and put "
      + "files into incoming/"
  ),
  CommandOption(
    name: "umask", value: "MODE",
    help:
      "what new files of the pool and its workers deny to others, as for umask(1): 027 lets the group read them; the "
      + "metrics file is for all users",
    defaultText: octal(defaultMask)),
  CommandOption(
    name: "redact", value: "NAME,NAME",
    help: "show no values of parameters, and of members of outputs, with these names; may be repeated",
    isRepeating: true),
]

/// How long the pool waits for others.
private let timeOptions = [
  CommandOption(
    name: "store-wait", value: "SECONDS",
    help:
      "how long the store may take to open when another process has it locked or its server is away; then the pool "
      + "ends with code \(ExitCode.storeIsLocked.rawValue); 0: it does not wait",
    defaultText: wholeText(defaults.storeTimeout)),
  CommandOption(
    name: "deadline", value: "SECONDS", help: "how long running jobs may take to finish when the pool stops",
    defaultText: wholeText(defaults.stopDeadline)),
]

/// What a worker process may use, and when it ends.
private let workerOptions = [
  CommandOption(
    name: "env", value: "NAME", help: "pass this variable on to the workers, which get few others; may be repeated",
    isRepeating: true),
  CommandOption(
    name: "memory", value: "MIB", help: "the most memory that a worker process may have", defaultText: "no limit"),
  CommandOption(
    name: "cpu", value: "SECONDS", help: "the most processor time that a worker process may use",
    defaultText: "no limit"),
  CommandOption(
    name: "open-files", value: "N", help: "the most files that a worker process may have open",
    defaultText: text(defaults.limits.openFiles)),
  CommandOption(
    name: "confine",
    help:
      "let the kernel deny the workers all but the store, the queue directory, the system's libraries and what "
      + "their plugin declares: files, networks, other processes"),
  CommandOption(
    name: "confine-read", value: "PATH", help: "let confined workers read this, too; may be repeated",
    isRepeating: true),
  CommandOption(
    name: "confine-write", value: "PATH", help: "let confined workers read and write this, too; may be repeated",
    isRepeating: true),
  CommandOption(
    name: "recycle-jobs", value: "N", help: "replace a worker process after N jobs, give or take a tenth",
    defaultText: "never"),
  CommandOption(
    name: "recycle-memory", value: "MIB", help: "replace a worker process that uses more memory",
    defaultText: "never"),
  CommandOption(
    name: "heartbeat", value: "SECONDS",
    help: "interval between liveness checks; a worker that does not answer is killed; 0 for never",
    defaultText: wholeText(defaults.heartbeat)),
  CommandOption(
    name: "orphan-deadline", value: "SECONDS",
    help: "how long a worker may go on with its job when the pool has died",
    defaultText: wholeText(defaults.orphanDeadline)),
]

/// What the pool tells others.
private let reportOptions = [
  CommandOption(
    name: "hook", value: "EVENTS=JOB",
    help:
      "submit a job for each of these events, with commas between them: failed, dead, stalled, recovered; the job is "
      + "exec:COMMAND, or the kind of a plugin; may be repeated",
    isRepeating: true),
  CommandOption(
    name: "stalled-after", value: "SECONDS",
    help: "how long a kind with ready jobs may begin and end none until hooks are told that it is stalled",
    defaultText: wholeText(defaults.stalledAfter)),
  CommandOption(
    name: "log-format", value: "FORMAT", help: "text, or json for one JSON object on each line", defaultText: "text"),
  CommandOption(
    name: "metrics-file", value: "FILE",
    help: "keep metrics in this file, for the textfile collector of Prometheus' node exporter"),
  CommandOption(
    name: "slow-statements", value: "SECONDS",
    help: "count SQL statements that take at least SECONDS; `workerpool status` shows the slowest with their plans",
    defaultText: "none is counted"),
  CommandOption(name: "with-parent", help: "stop, as for SIGTERM, when the process that started this one ends"),
  CommandOption(
    name: "record", value: "FILE", help: "append all that is said between the pool and its workers to a file"),
]

let systemdUnitCommand = CommandDescription(
  name: "systemd-unit", summary: "Print a unit file that runs a pool under systemd",
  discussion: """
    Takes the options of `workerpool run`; paths in it become absolute.

      workerpool systemd-unit --store app.sqlite --model App.xcdatamodeld --queue queue/ > workerpool.service
      workerpool systemd-unit --template > workerpool@.service
      workerpool systemd-unit --web > workerpool-web.service
      workerpool systemd-unit --web-socket > workerpool-web.socket
    """,
  options: runCommand.options + [
    CommandOption(
      name: "template",
      help: "print a unit with instances: workerpool@NAME takes its options from /etc/workerpool/NAME.conf"),
    CommandOption(
      name: "web", help: "print the unit of `workerpool web`, which takes its options from /etc/workerpool-web.conf"),
    CommandOption(name: "web-socket", help: "print the unit of the socket that starts it"),
  ],
  run: { arguments in
    if arguments.has("web") || arguments.has("web-socket") {
      Output.text(
        arguments.has("web")
          ? SystemdUnit.web(executable: PoolConfiguration.executablePath) : SystemdUnit.webSocket)
      return .success
    }
    if arguments.has("template") {
      Output.text(
        SystemdUnit.template(
          executable: PoolConfiguration.executablePath, storeTimeout: defaults.storeTimeout,
          stopDeadline: defaults.stopDeadline))
      return .success
    }
    let (arguments, pool) = try arguments.withFile("config") { all in (all, try configuration(all)) }
    let paths = ["model", "queue", "plugins", "record", "metrics-file", "confine-read", "confine-write"]
    var words: [String] = []
    for option in runCommand.options
    where option.name != "config" && arguments.has(option.name) || option.name == "queue" {
      let values = option.name == "queue" ? [arguments.queue] : arguments.strings(option.name)
      if option.value == nil { words.append("--\(option.name)") }
      for value in values {
        let absolute =
          switch option.name {
          case "store": StorePlace(value).absolute.text
          case _ where paths.contains(option.name): URL(fileURLWithPath: value).standardizedFileURL.path
          default: value
          }
        words += ["--\(option.name)", absolute]
      }
    }
    Output.text(
      SystemdUnit.text(
        executable: PoolConfiguration.executablePath, arguments: words, storeTimeout: pool.storeTimeout,
        stopDeadline: pool.stopDeadline))
    return .success
  })

@Sendable private func run(_ arguments: ParsedArguments) throws -> ExitCode {
  var (arguments, pool) = try arguments.withFile("config") { all in (all, try configuration(all)) }
  pool.commandLine = CommandLine.arguments
  sayWhichAreMissing(arguments.strings("plugins"))
  umask(try mask(arguments))
  return ExitCode(rawValue: try Pool.run(pool)) ?? .failure
}

/// Says which directories of plugins are not there. The pool searches again at SIGHUP, so one that comes later is no
/// mistake. On a thread of its own: a directory on a file system that hangs keeps the pool from nothing.
private func sayWhichAreMissing(_ directories: [String]) {
  if directories.isEmpty { return }
  // Without a thread the remark is left out: the pool itself tries again until it gets threads.
  try? BackgroundThread.start("plugin directories") {
    for directory in directories where access(directory, F_OK) != 0 {
      Output.error("workerpool run: there is no directory \(directory) for plugins yet\n")
    }
  }
}

private func mask(_ arguments: ParsedArguments) throws(UsageError) -> mode_t {
  guard let text = arguments.string("umask") else { return defaultMask }
  guard let mask = mode_t(text, radix: 8), mask <= 0o777, text.first?.isNumber == true else {
    throw UsageError("--umask must be an octal mode from 000 to 777, as in 027, not \"\(text)\"")
  }
  // The pool itself reads and writes what it makes.
  guard mask & 0o700 == 0 else {
    throw UsageError("--umask \(text) would deny the pool its own files: begin with 0, as in 027 or 077")
  }
  return mask
}

private func configuration(_ arguments: ParsedArguments) throws -> PoolConfiguration {
  var configuration = defaults
  for value in arguments.strings("workers") {
    let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.first?.isEmpty == false else {
      throw UsageError("--workers takes N for all workers, or NAME=K for one plugin, not \"\(value)\"")
    }
    let count = try ParsedArguments.int(parts.last ?? "", what: "--workers", in: 0...PoolLimit.workers)
    if parts.count == 2 { configuration.fixedWorkers[parts[0]] = count } else { configuration.workers = count }
  }
  if arguments.has("without-bundled") { configuration.pluginDirectories = [] }
  configuration.pluginDirectories = arguments.strings("plugins") + configuration.pluginDirectories
  guard !configuration.pluginDirectories.isEmpty else {
    throw UsageError("--without-bundled needs --plugins: there would be nothing to run")
  }
  configuration.store = try arguments.required("store")
  configuration.model = arguments.string("model") ?? ""
  configuration.queue = arguments.queue
  if let deadline = try arguments.int("deadline", in: 0...86_400) { configuration.stopDeadline = Double(deadline) }
  try applyRules(arguments, to: &configuration)
  configuration.passedVariables = Set(arguments.strings("env"))
  configuration.limits = try limits(arguments)
  if let seconds = try arguments.seconds("store-wait", in: 0...86_400) { configuration.storeTimeout = seconds }
  if let seconds = try arguments.seconds("heartbeat", in: 0...86_400) { configuration.heartbeat = seconds }
  if let seconds = try arguments.seconds("orphan-deadline", in: 0...86_400) { configuration.orphanDeadline = seconds }
  if try arguments.word("log-format", among: ["text", "json"]) == "json" { configuration.log = .jsonLines }
  // The process gets it when it starts the pool.
  _ = try mask(arguments)
  configuration.allowsGroup = arguments.has("allow-group")
  configuration.redactedNames = try redactedNames(arguments)
  configuration.keptKinds = try keptKinds(arguments)
  do throws(JobHookError) {
    for text in arguments.strings("hook") { configuration.hooks.append(try JobHook(text)) }
  } catch {
    throw UsageError("--hook: \(error)")
  }
  if let seconds = try arguments.seconds("stalled-after", in: 1...86_400) { configuration.stalledAfter = seconds }
  configuration.slowStatements = try arguments.seconds("slow-statements", in: 0...86_400)
  configuration.confinesWorkers = arguments.has("confine")
  configuration.confinedNeeds = try confinedNeeds(arguments)
  configuration.migratesStore = arguments.has("migrate")
  configuration.stopsWithParent = arguments.has("with-parent")
  configuration.recording = arguments.string("record")
  configuration.metricsFile = arguments.string("metrics-file")
  return configuration
}

private func applyRules(_ arguments: ParsedArguments, to configuration: inout PoolConfiguration) throws(UsageError) {
  for (queue, value) in try arguments.pairs("weight") {
    configuration.queueWeights[queue] = try ParsedArguments.int(value, what: "--weight \(queue)", in: 1...1_000_000)
  }
  for text in arguments.strings("limit") { try setLimit(text, in: &configuration) }
  for (kind, value) in try arguments.pairs("rate") {
    let parts = value.split(separator: "/").map(String.init)
    guard parts.count == 2, let period = Double(parts[1]), period > 0, period <= 366 * 86_400 else {
      throw UsageError("--rate \(kind) must be N/SECONDS, as in 10/60, not \"\(value)\"")
    }
    let jobs = try ParsedArguments.int(parts[0], what: "--rate \(kind)", in: 1...1_000_000)
    configuration.kindRates[kind] = JobRate(jobs: jobs, period: period)
  }
  for (kind, value) in try arguments.pairs("job-cpu") {
    guard let seconds = Double(value), seconds > 0, seconds <= 366 * 86_400 else {
      throw UsageError("--job-cpu \(kind) must be a number of seconds above 0, not \"\(value)\"")
    }
    configuration.kindProcessorTimes[kind] = seconds
  }
  let days = 0.0...36_600.0
  if let age = try arguments.number("keep", in: days) { configuration.retention.finished = age * 86_400 }
  if let age = try arguments.number("keep-dead", in: days) { configuration.retention.dead = age * 86_400 }
  if let count = try arguments.int("keep-count", in: 0...Int.max) { configuration.retention.count = count }
}

/// - Parameter text: `KIND=N`, `kind:KIND=N` or `queue:NAME=N`, where only a queue's name may be a pattern.
private func setLimit(_ text: String, in configuration: inout PoolConfiguration) throws(UsageError) {
  let forms = "as in --limit index=2, --limit queue:mail=2 or --limit queue:tenant-*=1"
  let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
  guard parts.count == 2, let name = parts[0].split(separator: ":").last.map(String.init) else {
    throw UsageError("--limit must be KIND=N or queue:NAME=N, not \"\(text)\"; \(forms)")
  }
  let limit = try ParsedArguments.int(parts[1], what: "--limit \(parts[0])", in: 1...1_000_000)
  switch parts[0].dropLast(name.count) {
  case "", "kind:":
    guard JobRequest.isName(name) else {
      throw UsageError("--limit \(text): \"\(name)\" is not the name of a kind; only queues have patterns, \(forms)")
    }
    configuration.kindLimits[name] = limit
  case "queue:":
    guard JobRequest.isName(name.replacing("*", with: "x")) else {
      throw UsageError("--limit \(text): \"\(name)\" is not the name or pattern of a queue, \(forms)")
    }
    configuration.queueLimits[name] = limit
  default: throw UsageError("--limit \(text) must begin with a kind or with queue:, \(forms)")
  }
}

private func redactedNames(_ arguments: ParsedArguments) throws(UsageError) -> Set<String> {
  let names = arguments.strings("redact").flatMap { text in
    text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
  }
  guard names.allSatisfy({ !$0.isEmpty && !$0.contains(where: \.isNewline) }) else {
    throw UsageError("--redact must be names with commas between them, as in password,token")
  }
  return Set(names)
}

private func keptKinds(_ arguments: ParsedArguments) throws(UsageError) -> Set<String> {
  let kinds = arguments.strings("keep-changes").flatMap { text in
    text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
  }
  guard kinds.allSatisfy(JobRequest.isName) else {
    throw UsageError("--keep-changes must be kinds with commas between them, as in import,index")
  }
  return Set(kinds)
}

private func confinedNeeds(_ arguments: ParsedArguments) throws(UsageError) -> PluginDescription.Needs {
  func places(_ option: String) throws(UsageError) -> [String]? {
    let paths = arguments.strings(option)
    guard paths.isEmpty || arguments.has("confine") else { throw UsageError("--\(option) goes with --confine") }
    return paths.isEmpty ? nil : paths.map { URL(fileURLWithPath: $0).path }
  }
  return PluginDescription.Needs(read: try places("confine-read"), write: try places("confine-write"))
}

private func limits(_ arguments: ParsedArguments) throws(UsageError) -> WorkerLimits {
  let mebibytes = 1...(1 << 40)
  var limits = WorkerLimits()
  limits.memory = try arguments.int("memory", in: mebibytes).map { $0 << 20 }
  limits.processorTime = try arguments.int("cpu", in: 1...Int(Int32.max))
  limits.openFiles = try arguments.int("open-files", in: 16...(1 << 30)) ?? limits.openFiles
  limits.jobs = try arguments.int("recycle-jobs", in: 1...Int(Int32.max))
  limits.residentMemory = try arguments.int("recycle-memory", in: mebibytes).map { $0 << 20 }
  return limits
}
