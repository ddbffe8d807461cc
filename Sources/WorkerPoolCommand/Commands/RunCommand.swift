import Jobs
import WorkerPool

let runCommand = CommandDescription(
  name: "run", summary: "Run a pool: keep worker processes alive and hand jobs to them",
  discussion: """
    Runs until it is told to stop: SIGTERM and SIGINT let running jobs finish first (a second one does not wait), SIGHUP looks
    for plugins again, SIGTTIN and SIGTTOU mean one worker more or less. What it does goes to standard error.

      workerpool run --workers 4 --store app.sqlite --model App.xcdatamodeld --queue queue/
    """,
  options: [
    CommandOption(
      name: "workers", value: "N",
      help: "worker processes in all; NAME=K keeps K of them for one plugin; may be repeated",
      defaultText: "2", isRepeating: true),
    CommandOption(name: "store", value: "FILE", help: "the SQLite store; made if it is not there yet"),
    CommandOption(name: "model", value: "PATH", help: "its model: .xcdatamodeld, .xcdatamodel or .momd"),
    CommonOptions.queue,
    CommandOption(
      name: "plugins", value: "DIR", help: "where to look for worker-NAME executables; may be repeated",
      defaultText: "beside workerpool", isRepeating: true),
    CommandOption(
      name: "deadline", value: "SECONDS", help: "how long running jobs may take to finish when the pool stops",
      defaultText: "30"),
    CommandOption(name: "with-parent", help: "stop, as for SIGTERM, when the process that started this one ends"),
    CommandOption(
      name: "record", value: "FILE", help: "append all that is said between the pool and its workers to a file"),
  ],
  run: run)

@Sendable private func run(_ arguments: ParsedArguments) throws -> ExitCode {
  var workers = 2
  var fixed: [String: Int] = [:]
  for value in arguments.strings("workers") {
    let parts = value.split(separator: "=", maxSplits: 1).map(String.init)
    let count = try ParsedArguments.int(parts.last ?? "", what: "--workers", in: 0...1000)
    if parts.count == 2 { fixed[parts[0]] = count } else { workers = count }
  }
  let plugins = arguments.strings("plugins")
  var configuration = PoolConfiguration(
    store: try arguments.required("store"), model: try arguments.required("model"), queue: arguments.queue,
    workers: workers, pluginDirectories: plugins.isEmpty ? nil : plugins)
  configuration.fixedWorkers = fixed
  if let deadline = try arguments.int("deadline", in: 0...86_400) { configuration.stopDeadline = Double(deadline) }
  configuration.stopsWithParent = arguments.has("with-parent")
  configuration.recording = arguments.string("record")
  return ExitCode(rawValue: try Pool.run(configuration)) ?? .failure
}
