import Foundation
import Jobs
import LinuxSystem
import PoolClient

let pauseCommand = CommandDescription(
  name: "pause", summary: "Hand out no more jobs",
  discussion: "What runs goes on. Without an argument the whole pool pauses.",
  operands: [Operand(name: "QUEUE", help: "only jobs of this queue", isOptional: true)],
  options: [
    CommonOptions.queue, CommandOption(name: "kind", value: "KIND", help: "only jobs of this kind"),
    MistypedNames.option,
  ],
  run: { try pause($0, .pause) })

let resumeCommand = CommandDescription(
  name: "resume", summary: "Hand out jobs again after a pause",
  discussion: "Takes back the pause of a queue, of a kind, or with --all that of the whole pool.",
  operands: [Operand(name: "QUEUE", help: "only jobs of this queue", isOptional: true)],
  options: [
    CommonOptions.queue, CommandOption(name: "kind", value: "KIND", help: "only jobs of this kind"),
    CommandOption(
      name: "all", help: "the whole pool; queues and kinds that were paused by their names stay so"),
    MistypedNames.option,
  ],
  run: resume)

let scaleCommand = CommandDescription(
  name: "scale", summary: "Change the number of worker processes",
  operands: [Operand(name: "N", help: "worker processes in all, or PLUGIN=N for one plugin")],
  options: [CommonOptions.queue], run: scale)

let reloadCommand = CommandDescription(
  name: "reload", summary: "Look for plugins again, and replace the worker processes one by one",
  options: [CommonOptions.queue],
  run: { arguments in
    _ = try send(StatusRequest(.reload), to: try arguments.pool())
    Output.line("the pool searches for plugins again")
    return .success
  })

let reexecCommand = CommandDescription(
  name: "reexec", summary: "Replace the program of the running pool by a new one; its jobs go on",
  discussion: """
    For upgrades: the process, its workers and what they run stay. The new program is asked first whether it
    can take over; if not, the pool goes on as before. Workers of a plugin that does not describe
    "survivesReexec" finish their jobs first. Stores at a server cannot have it.
    """,
  options: [
    CommonOptions.queue,
    CommandOption(
      name: "program", value: "FILE", help: "the new program",
      defaultText: "the file that is now where the pool was started"),
    CommandOption(
      name: "deadline", value: "SECONDS",
      help: "how long to wait for what cannot be handed over; then the pool goes on as before", defaultText: "30"),
  ],
  run: reexec)

let stopCommand = CommandDescription(
  name: "stop", summary: "Let the pool finish what runs, then stop it",
  discussion: "Jobs that have not begun stay in the store. Returns when the pool is gone.",
  options: [
    CommonOptions.queue,
    CommandOption(name: "all", help: "stop the pools of all hosts that share the store, this one last"),
    CommandOption(
      name: "deadline", value: "SECONDS", help: "jobs that have not finished by then are stopped and run again later",
      defaultText: "the pool's own"),
  ],
  run: stop)

extension ParsedArguments {
  /// The URI of the job that a word names.
  func jobURI(_ word: String) throws -> String {
    if ObjectURI(word) != nil { return word }
    guard let key = ObjectURI.key(name: word.hasPrefix("p") ? word : "p\(word)") else {
      throw UsageError("\"\(word)\" is not a job; name a job as `workerpool jobs` does: p17")
    }
    return try StoreReader(poolStore: try storePath()).jobURIs[key].description
  }

  /// The operand of `show`, or nil without it.
  ///
  /// - Parameter command: the command that lists what `show` tells about.
  func shown(_ what: String, of command: String) throws(UsageError) -> String? {
    guard let first = operands.first else { return nil }
    guard first == "show" else {
      let other = command != "jobs" && ObjectURI.key(name: first) != nil ? "jobs" : command
      throw UsageError(
        "workerpool \(command) does not know what to do with \"\(first)\"; for one alone: workerpool \(other) show "
          + first
      )
    }
    guard operands.count > 1 else { throw UsageError("show needs \(what)") }
    return operands[1]
  }
}

@Sendable private func resume(_ arguments: ParsedArguments) throws -> ExitCode {
  let isNamed = !arguments.operands.isEmpty || arguments.has("kind")
  guard isNamed != arguments.has("all") else {
    throw UsageError(
      "resume needs "
        + (isNamed ? "one of them: QUEUE, --kind KIND or --all" : "QUEUE, --kind KIND, or --all for the whole pool"))
  }
  let code = try pause(arguments, .resume)
  guard !isNamed, let status = try localStatus(arguments) else { return code }
  let paused =
    status.pausedQueues.map { AdvisedCommand.resume(queue: $0) }
    + status.pausedKinds.map { AdvisedCommand.resume(kind: $0) }
  let commands = paused.map { arguments.adviceReader.text(of: $0) }.joined(separator: ", ")
  if !paused.isEmpty { Output.line("still paused by name: \(commands)") }
  return code
}

private func localStatus(_ arguments: ParsedArguments) throws -> PoolStatus? {
  try arguments.pool().request(StatusRequest(.status, local: true)).status
}

/// Pauses or resumes what the arguments name.
private func pause(_ arguments: ParsedArguments, _ command: StatusRequest.Command) throws -> ExitCode {
  let queue = arguments.operands.first
  let kind = arguments.string("kind")
  if let name = [queue, kind].compactMap(\.self).first(where: { !JobRequest.isName($0) }) {
    throw UsageError("no queue and no kind has the name \"\(name)\": names are letters, digits, \".\", \"_\" and \"-\"")
  }
  let unknown = try MistypedNames.check(arguments, kind: kind, queue: queue)
  let isPaused = try localStatus(arguments).map { status in
    queue.map(status.pausedQueues.contains) ?? kind.map(status.pausedKinds.contains) ?? status.isPaused
  }
  _ = try send(StatusRequest(command, queue: queue, kind: kind), to: try arguments.pool())
  let what = queue.map { "queue \($0)" } ?? kind.map { "kind \($0)" } ?? "the pool"
  let change = command == .pause ? "pauses" : isPaused == false ? "was not paused" : "goes on"
  Output.line("\(what) \(change)")
  for name in unknown {
    let reason =
      name.what == "kind" ? "No plugin runs the kind \(name.name)" : "No job has come into the queue \(name.name)"
    Output.error("\(reason) yet; this holds for the jobs to come.\n")
  }
  return .success
}

@Sendable private func scale(_ arguments: ParsedArguments) throws -> ExitCode {
  let operand = arguments.operands[0]
  let parts = operand.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
  guard parts.first?.isEmpty == false else {
    throw UsageError("scale takes N for all workers, or PLUGIN=N for one plugin, not \"\(operand)\"")
  }
  let count = try ParsedArguments.int(parts.last ?? "", what: "N", in: 0...PoolLimit.workers)
  let plugin = parts.count == 2 ? parts[0] : nil
  _ = try send(StatusRequest(.scale, plugin: plugin, count: count), to: try arguments.pool())
  Output.line("\(count) \(plugin.map { "\($0) " } ?? "")workers")
  return .success
}

@Sendable private func reexec(_ arguments: ParsedArguments) throws -> ExitCode {
  let deadline = try arguments.int("deadline", in: 0...86_400).map(Double.init)
  let program = arguments.string("program").map { URL(fileURLWithPath: $0).path }
  let pool = try arguments.pool()
  let before = try pool.request(StatusRequest(.status, local: true)).status
  let begun = Clock.now
  // The new program has a minute to answer.
  let patience = StatusClient.patience + 60 + (deadline ?? 30)
  let reply = try send(StatusRequest(.reexec, deadline: deadline, program: program), to: pool, within: patience)
  // The new program answers on the same socket, as soon as it has opened the store.
  var (after, asked): (PoolStatus?, Double)
  repeat {
    asked = Clock.now
    after = try arguments.pool().request(StatusRequest(.status, local: true)).status
    // Where the answer took longer than the program runs, its age does not tell which one it is.
  } while after.map { $0.age >= asked - begun && $0.age < Clock.now - begun } == true
  guard let before, let after, after.pid == before.pid, after.age < asked - begun else {
    throw PoolRefusal(reason: "the pool has not replaced its program; `workerpool logs` says why")
  }
  Output.line(
    "process \(after.pid) runs the new program; \(Plural.text(reply.count ?? 0, "job")) in the hands of workers went on"
  )
  return .success
}

@Sendable private func stop(_ arguments: ParsedArguments) throws -> ExitCode {
  let deadline = try arguments.int("deadline", in: 0...86_400).map(Double.init)
  let pool = try arguments.pool()
  let request = StatusRequest(.stop, deadline: deadline, all: arguments.has("all") ? true : nil)
  let others = try send(request, to: pool, within: request.all == true ? nil : StatusClient.patience).count ?? 0
  pool.waitForEnd()
  Output.line("stopped" + (others > 0 ? ", with \(Plural.text(others, "other pool"))" : ""))
  return .success
}

func send(
  _ request: StatusRequest, to pool: StatusClient, within timeout: Double? = StatusClient.patience
) throws -> StatusReply {
  let reply = try pool.request(request, within: timeout)
  guard reply.ok else { throw PoolRefusal(reason: reply.error ?? "the pool refused without a reason") }
  return reply
}

/// The pool refused a request.
struct PoolRefusal: Error, CustomStringConvertible {
  let reason: String
  var description: String { reason }
}
