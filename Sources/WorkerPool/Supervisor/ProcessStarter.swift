import CSystem
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import WorkerProtocol

/// Starts processes on threads of their own: execve(2) waits for the program's file system, and the loop must not wait
/// with it.
///
/// Each program has a thread of its own, so that a file system that hangs delays no other program. The thread also
/// looks at the program's file. The threads live as long as the starter: the kernel tells a child of its parent's death
/// when the thread ends that started it (PR_SET_PDEATHSIG, prctl(2)).
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
  private var requests: [Int: (request: SpawnRequest, completion: (Outcome) -> Void)] = [:]
  private var lastTicket = 0
  /// Children that were killed and are not waited for yet, with what tells their end where that is known.
  private var dying: [pid_t: Descriptor?] = [:]
  /// Seconds between two looks at such a child whose end cannot be watched.
  private static let reapInterval = 0.1
  /// Called with the path of a program when an abandoned start has ended.
  var whenBack: (String) -> Void = { _ in }

  init(loop: EventLoop) throws(SystemCallError) {
    self.loop = loop
    answers = try Mailbox()
    try loop.deliver(from: answers) { [weak self] in self?.handle($0) }
  }

  deinit {
    loop.unwatch(answers.descriptor)
    for thread in threads.values { thread.end() }
    for process in dying.values { if let process { loop.unwatch(process.number) } }
    // What the threads start from now on they end themselves. These have come, and nobody takes them any more.
    let unclaimed = answers.collect().compactMap { answer in
      if case .success(let pid) = answer.outcome { pid } else { nil as pid_t? }
    }
    let children = Array(dying.keys) + unclaimed
    // Without a thread they stay zombies until this process ends, which is soon.
    if !children.isEmpty { try? BackgroundThread.start("reaping") { for pid in children { OwnChildren.end(pid) } } }
  }

  /// Starts a program; calls `completion` once on the loop, unless the start is abandoned. Returns its ticket.
  func start(_ request: SpawnRequest, completion: @escaping (Outcome) -> Void) -> Int {
    lastTicket += 1
    requests[lastTicket] = (request, completion)
    let path = request.program.path
    do throws(SystemCallError) {
      if threads[path] == nil { threads[path] = try StarterThread(answers) }
      threads[path]?.take(request, ticket: lastTicket)
    } catch {
      // The caller takes a failure for one of the process itself: there may be room for both later.
      loop.inNextTurn { [weak self, ticket = lastTicket] in
        self?.requests.removeValue(forKey: ticket)?.completion(.failure(error))
      }
    }
    return lastTicket
  }

  /// Gives up a start: if its process comes into being, it is killed.
  func abandon(_ ticket: Int) {
    requests.removeValue(forKey: ticket)?.request.isAbandoned.store(true, ordering: .relaxed)
  }

  /// Kills a child and its process group. It is waited for when it has died, which takes as long as a system call of it
  /// cannot be interrupted.
  func end(_ pid: pid_t) {
    kill(-pid, SIGKILL)
    kill(pid, SIGKILL)
    dying[pid] = .some(nil)
    reap(pid)
    guard dying[pid] != nil else { return }
    // Where it cannot be watched, it is looked for again later.
    guard let process = try? Descriptor.ofProcess(pid),
      (try? loop.watch(process.number, for: .readable, handler: { [weak self] in self?.reap(pid) })) != nil
    else {
      // Out of descriptors or memory.
      return reapLater(pid)
    }
    dying[pid] = process
  }

  /// The children that were killed and are not waited for yet.
  var ending: Set<pid_t> { Set(dying.keys) }

  private func reap(_ pid: pid_t) {
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) != 0, let process = dying.removeValue(forKey: pid) else { return }
    if let process { loop.unwatch(process.number) }
  }

  private func reapLater(_ pid: pid_t) {
    loop.timers.after(Self.reapInterval) { [weak self] in
      guard let self else { return }
      reap(pid)
      if dying[pid] != nil { reapLater(pid) }
    }
  }

  /// Whether no thread is starting a program, and no child is about to be reaped.
  var isIdle: Bool { dying.isEmpty && threads.values.allSatisfy(\.isIdle) }

  /// The threads whose children are processes that were started here.
  var threadIDs: Set<Int32> { Set(threads.values.map(\.id)) }

  private func handle(_ answer: Answer) {
    if let request = requests.removeValue(forKey: answer.ticket) { return request.completion(answer.outcome) }
    if case .success(let pid) = answer.outcome { end(pid) }
    whenBack(answer.path)
  }
}

/// A request for a process; owns the writing ends of its pipes, and its end of the connection, until the process has
/// them.
final class SpawnRequest: Sendable {
  let program: Program
  /// Says what confines the process. That needs looks at the program's file.
  private let confinement: (@Sendable () -> Confinement)?
  private let output: Descriptor
  private let errors: Descriptor
  private let connection: Descriptor?
  fileprivate let isAbandoned = Atomic(false)

  init(
    _ program: Program, confinement: (@Sendable () -> Confinement)?, output: Descriptor, errors: Descriptor,
    connection: Descriptor?
  ) {
    self.program = program
    self.confinement = confinement
    self.output = output
    self.errors = errors
    self.connection = connection
  }

  /// Starts the program so that it and the processes that it leaves behind can be recognised. Blocks as long as
  /// execve(2) does.
  fileprivate func spawn() -> ProcessStarter.Outcome {
    if isAbandoned.load(ordering: .relaxed) { return .failure(cancelled) }
    var program = program
    program.confinement = confinement?()
    program.isSubreaper = true
    program.pidVariable = WorkerVariable.pid.rawValue
    program.mark = program.environment[WorkerVariable.pool.rawValue].map(ProcessMark.init)
    do throws(SystemCallError) {
      // The loop ends the process of a start that it has abandoned.
      return .success(try program.start(output: output, errors: errors, inherited: connection))
    } catch {
      return .failure(error)
    }
  }

  private var cancelled: SystemCallError { SystemCallError("spawn", path: program.path, number: ECANCELED) }
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

  init(_ answers: Mailbox<ProcessStarter.Answer>) throws(SystemCallError) {
    try BackgroundThread.start("starter") { [self] in run(answers) }
  }

  /// The kernel's number of the thread; 0 until it runs.
  var id: Int32 { thread.load(ordering: .relaxed) }

  var isIdle: Bool { state.withLock { $0.requests.isEmpty } }

  func take(_ request: SpawnRequest, ticket: Int) {
    state.withLock { $0.requests.append((request, ticket)) }
    work.signal()
  }

  /// Lets the thread end; the kernel ends its children with it.
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
      let isTaken = state.withLock { state in
        state.requests.removeFirst()
        if state.isOver { return false }
        answers.post(.init(ticket: ticket, path: request.program.path, outcome: outcome))
        return true
      }
      // The starter is gone, so nobody else waits for the child: it would stay a zombie.
      if !isTaken, case .success(let pid) = outcome { OwnChildren.end(pid) }
    }
  }
}
