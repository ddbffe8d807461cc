import CSystem
import Foundation
import Glibc
import Synchronization
import WorkerProtocol

/// Starts processes on threads of their own: execve(2) waits for the program's file system, and the loop must not hang with that.
///
/// Each program has a thread, so that one that hangs keeps no other. The threads live as long as the starter: the kernel tells a child of
/// its parent's death when the thread ends that started it (PR_SET_PDEATHSIG, prctl(2)).
final class ProcessStarter {
  /// The child's process ID, or why there is none.
  typealias Outcome = Result<pid_t, SystemCallError>

  fileprivate struct Answer: Sendable {
    let ticket: Int
    let path: String
    let outcome: Outcome
  }

  private let loop: EventLoop
  private let answers: Mailbox<Answer>
  private var threads: [String: StarterThread] = [:]
  private var waiting: [Int: (request: SpawnRequest, completion: (Outcome) -> Void)] = [:]
  private var lastTicket = 0
  /// Called with the path of a program when a start that was abandoned has come to an end.
  var whenBack: (String) -> Void = { _ in }

  init(loop: EventLoop) throws(SystemCallError) {
    self.loop = loop
    answers = try Mailbox()
    try loop.deliver(from: answers) { [weak self] in self?.handle($0) }
  }

  deinit {
    loop.unwatch(answers.descriptor)
    for thread in threads.values { thread.end() }
  }

  /// Starts a program; calls `completion` once on the loop, unless the start is abandoned. Returns its ticket.
  func start(_ request: SpawnRequest, completion: @escaping (Outcome) -> Void) -> Int {
    lastTicket += 1
    waiting[lastTicket] = (request, completion)
    let path = request.command.path
    let thread = threads[path] ?? StarterThread(answers)
    threads[path] = thread
    thread.take(request, ticket: lastTicket)
    return lastTicket
  }

  /// Nobody waits for that start any more: its process is killed should it come to be.
  func abandon(_ ticket: Int) {
    waiting.removeValue(forKey: ticket)?.request.isAbandoned.store(true, ordering: .relaxed)
  }

  /// The threads whose children are processes that were started here.
  var threadIDs: Set<Int32> { Set(threads.values.map(\.id)) }

  private func handle(_ answer: Answer) {
    if let waiting = waiting.removeValue(forKey: answer.ticket) { return waiting.completion(answer.outcome) }
    if case .success(let pid) = answer.outcome { SpawnRequest.end(pid) }
    whenBack(answer.path)
  }
}

/// A program with all that its start takes; owns the pipes' ends that it writes to until it has them.
final class SpawnRequest: Sendable {
  let command: ChildProcess.Command
  private let standardOutput: Int32
  private let standardError: Int32
  fileprivate let isAbandoned = Atomic(false)

  init(_ command: ChildProcess.Command, standardOutput: Int32, standardError: Int32) {
    self.command = command
    self.standardOutput = standardOutput
    self.standardError = standardError
  }

  deinit {
    close(standardOutput)
    close(standardError)
  }

  /// Starts the program with standard input empty, the two outputs, default signals and its own process group, without new privileges
  /// and within its limits. Blocks as long as execve(2) does.
  fileprivate func spawn() -> ProcessStarter.Outcome {
    if isAbandoned.load(ordering: .relaxed) { return .failure(SystemCallError("spawn", number: ECANCELED)) }
    var arguments = ([command.path] + command.arguments).map { strdup($0) } + [nil]
    // The child writes its own process ID there: so it can be told from what it starts, which inherits the variable.
    let pidVariable = "\(StrayProcesses.pidVariable)="
    let ownPID = strdup(pidVariable + "0000000000")
    var environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [ownPID, nil]
    defer { for string in arguments + environment { free(string) } }
    let limits = command.limits.map { csystem_limit(resource: $0.resource, value: $0.value) }
    var pid: pid_t = 0
    let error = command.path.withCString { path in
      arguments.withUnsafeMutableBufferPointer { arguments in
        environment.withUnsafeMutableBufferPointer { environment in
          limits.withUnsafeBufferPointer { limits in
            var program = csystem_program(
              path: path, arguments: arguments.baseAddress, environment: environment.baseAddress,
              standard_output: standardOutput, standard_error: standardError,
              parent_death_signal: command.parentDeathSignal, limits: limits.baseAddress,
              limit_count: Int32(limits.count), standard_input: 0, directory: nil, is_subreaper: 1,
              own_pid: ownPID.map { $0 + pidVariable.utf8.count })
            return csystem_spawn(&program, &pid)
          }
        }
      }
    }
    guard error == 0 else { return .failure(SystemCallError("spawn", path: command.path, number: error)) }
    guard !isAbandoned.load(ordering: .relaxed) else {
      Self.end(pid)
      return .failure(SystemCallError("spawn", path: command.path, number: ECANCELED))
    }
    return .success(pid)
  }

  /// Kills a child that nobody wants, with what it has started, and waits for it.
  static func end(_ pid: pid_t) {
    kill(-pid, SIGKILL)
    kill(pid, SIGKILL)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
  }
}

/// The thread that starts the processes of one program.
private final class StarterThread: Sendable {
  private struct State {
    var requests: [(SpawnRequest, ticket: Int)] = []
    var isOver = false
  }

  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)
  private let thread = Atomic<Int32>(0)

  init(_ answers: Mailbox<ProcessStarter.Answer>) {
    Thread.detachNewThread { [self] in run(answers) }
  }

  /// As the kernel numbers threads; 0 until it runs.
  var id: Int32 { thread.load(ordering: .relaxed) }

  func take(_ request: SpawnRequest, ticket: Int) {
    state.withLock { $0.requests.append((request, ticket)) }
    work.signal()
  }

  /// Lets the thread end, and what it has started with it.
  func end() {
    state.withLock { state in
      state.isOver = true
      for (request, _) in state.requests { request.isAbandoned.store(true, ordering: .relaxed) }
    }
    work.signal()
  }

  private func run(_ answers: Mailbox<ProcessStarter.Answer>) {
    thread.store(csystem_thread_id(), ordering: .relaxed)
    while true {
      work.wait()
      guard let (request, ticket) = state.withLock({ $0.isOver ? nil : $0.requests.first }) else { return }
      let outcome = request.spawn()
      state.withLock { _ = $0.requests.removeFirst() }
      answers.post(.init(ticket: ticket, path: request.command.path, outcome: outcome))
    }
  }
}
