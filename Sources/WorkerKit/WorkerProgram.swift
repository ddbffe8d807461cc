import Foundation
import LinuxSystem
import WorkerProtocol

/// What the executable of a plugin does with its arguments and environment.
struct WorkerProgram {
  let workers: [any Worker.Type]

  /// Exit codes, as in sysexits.h: started by hand, the store cannot be opened, no connection.
  private static let usage: Int32 = 64
  private static let noInput: Int32 = 66
  private static let unavailable: Int32 = 69

  /// Ends the process.
  func run() -> Never {
    switch CommandLine.arguments.dropFirst().first {
    case "--version":
      print("worker-\(name) \(workers.first?.version ?? "1.0"), workerpool \(Release.text)")
      exit(0)
    case "describe":
      print(description.json)
      exit(0)
    case nil:
      guard let environment = WorkerEnvironment(ProcessInfo.processInfo.environment) else {
        print(help)
        exit(Self.usage)
      }
      exit(serve(environment))
    default:
      print(help)
      exit(["--help", "-h", "help"].contains(CommandLine.arguments[1]) ? 0 : Self.usage)
    }
  }

  /// The NAME in the executable's `worker-NAME`.
  private var name: String {
    let file = URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent
    return file.hasPrefix("worker-") ? String(file.dropFirst("worker-".count)) : file
  }

  /// The answer to `describe`.
  var description: PluginDescription {
    var description = PluginDescription(
      name: name, version: workers.first?.version ?? "1.0", protocolVersions: [ProtocolVersion.current],
      kinds: workers.map(Self.kind), heartbeat: true)
    description.survivesReexec = true
    let needs = PluginDescription.Needs(all: workers.map { $0.needs })
    if !needs.isNothing { description.needs = needs }
    return description
  }

  private static func kind(_ worker: any Worker.Type) -> PluginDescription.Kind {
    var kind = PluginDescription.Kind(
      kind: worker.kind, timeout: worker.timeout, maxAttempts: worker.maxAttempts, limit: worker.limit)
    kind.processorTime = worker.processorTime
    kind.maxCrashes = worker.maxCrashes
    kind.backoff = worker.backoff
    kind.maxBackoff = worker.maxBackoff
    kind.limitPerKey = worker.limitPerKey
    kind.rate = worker.rate.map { JobRate(jobs: $0.jobs, period: $0.period) }
    return kind
  }

  private var help: String {
    var lines = ["worker-\(name) is a plugin of workerpool, which starts it and hands jobs to it:", ""]
    for worker in workers {
      lines.append("  \(worker.kind)" + (worker.summary.isEmpty ? "" : ": \(worker.summary)"))
    }
    lines += [
      "", "Put it beside the workerpool executable or into the directory of `workerpool run --plugins DIR`.",
      "`worker-\(name) describe` prints what it is as JSON.",
    ]
    return lines.joined(separator: "\n")
  }

  /// Works for the pool until it is told to go; returns the exit code. The pool shows the output of this function as
  /// the reason of a failure.
  private func serve(_ environment: WorkerEnvironment) -> Int32 {
    do {
      let signals = try WorkerSignals()
      // After the signals: threads inherit which of them are blocked.
      DispatchTimers.open()
      let store: JobStore
      switch openStore(environment) {
      case .open(let opened): store = opened
      case .failed(let code): return code
      }
      let connection = try WorkerConnection(
        descriptor: UnixSocket.inherited(environment.connection), signals: signals, kinds: workers.map { $0.kind },
        orphanDeadline: environment.orphanDeadline)
      connection.interruptStatements = { [coordinator = store.coordinator] in coordinator.interruptStatements() }
      let runner = JobRunner(
        workers: workers, store: store, connection: connection, keptKinds: environment.keptKinds)
      // Jobs get a thread with a stack like the main thread's; the main thread listens.
      do throws(SystemCallError) {
        try BackgroundThread.start("jobs") { runner.run() }
      } catch {
        complain("no thread can be started for jobs: \(error)")
        return WorkerExit.tryLater
      }
      let code = connection.serve()
      // No supervisor is left to end the processes that the jobs have started, in this group or elsewhere.
      if connection.isOrphan, getpgrp() == getpid() {
        OwnChildren.endAll()
        kill(0, SIGKILL)
      }
      return code
    } catch {
      complain("no connection to the pool: \(error)")
      return Self.unavailable
    }
  }

  /// Seconds after which a worker says that its store is not open yet. The pool ends it when it has not said hello
  /// within ten.
  private static let storeNotice = 1.0

  private enum Opening {
    case open(JobStore)
    /// The exit code.
    case failed(Int32)
  }

  private func openStore(_ environment: WorkerEnvironment) -> Opening {
    let isOpen = DispatchSemaphore(value: 0)
    defer { isOpen.signal() }
    // SQLite blocks this thread while another process has the store locked. Without the other one it does so silently.
    try? BackgroundThread.start("store notice") {
      guard isOpen.wait(timeout: .now() + Self.storeNotice) == .timedOut else { return }
      complain("the store is not open yet: it waits for a lock, or is being recovered or upgraded")
    }
    do {
      return .open(try environment.openStore())
    } catch {
      complain("the store cannot be opened: \(FailureText.text(error))")
      // It is not the plugin's fault if a server starts, or has no connection left, or if the model is being replaced,
      // which the pool has read before.
      let mayPass =
        error is ModelLoaderError || StorePlace(environment.store).isServer && StoreTrouble(error) != nil
      return .failed(mayPass ? WorkerExit.tryLater : Self.noInput)
    }
  }
}
