import CSystem
import Foundation
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The connection to the pool, shared by the main thread and the jobs' thread, which works and speaks. While a job runs
/// the main thread listens. Without jobs the jobs' thread listens itself, so that no other thread has to wake it for a
/// new one:
///
/// ```text
/// jobs' thread                            main thread
/// runs a job                              waits for the socket, signals and the next deadline
/// has no more: takes the socket over      waits for signals and the next deadline
/// gets RUN: gives the socket back
/// BEGIN, runs the job                     waits for the socket, signals and the next deadline
/// ```
///
/// `@unchecked Sendable`: `state` and `connection` are only touched while `condition` is locked, but for receiving,
/// which touches the parts of `Connection` that sending does not, and has the lock `receiving`.
final class WorkerConnection: @unchecked Sendable {
  struct State {
    var session = WorkerSession()
    var isClosed = false
    /// When the running job has to be over, in seconds of the monotonic clock, and which it is.
    var deadline: (at: Double, job: ObjectURI)?
    /// Where a job was when its time was over.
    var lateStack: (job: ObjectURI, lines: [String])?
    /// Set when the supervisor has died: when the running job must have ended, then when the process must end.
    var orphanEnd: Double?
    /// While a group runs: when its running job has taken too long, and the jobs after it.
    var group: (end: Double, laterJobs: [ObjectURI])?
    /// When the main thread wakes up by itself.
    var wakesAt: Double?
    /// Whether the jobs' thread waits for the socket, and not for `condition`.
    var isJobsThreadListening = false
    var saved = SavedElsewhere()
    /// Since when a plugin's code has been running: its SQL statements may be interrupted, those of WorkerKit may not.
    var pluginUse: Double?
    /// When jobs began last.
    var lastBegin: Double?
    /// Since when WorkerKit has been reading or writing the jobs' rows; nil once a slow store was reported. Both in
    /// seconds of the monotonic clock.
    var storeUse: Double?
    /// The store wait that the coordinator was told last.
    var storeWait: StoreWait?
    /// The seconds that the running job has left, kept during a store wait.
    var timeLeft: (seconds: Double, job: ObjectURI)?

    var isInPlugin: Bool { pluginUse != nil }

    /// No job waits for one that takes long: those after it in the group go back.
    mutating func cutGroup() {
      guard let laterJobs = group?.laterJobs, !laterJobs.isEmpty else { return }
      group?.laterJobs = []
      session.giveBack(laterJobs)
    }

    /// A store wait uses up none of a job's time.
    mutating func countTime(isWaiting: Bool, now: Double) {
      if isWaiting, let deadline {
        timeLeft = (deadline.at - now, deadline.job)
        self.deadline = nil
      } else if !isWaiting, let timeLeft {
        deadline = deadline ?? (now + timeLeft.seconds, timeLeft.job)
        self.timeLeft = nil
      }
    }

    /// When the main thread looks whether the store has been in use by WorkerKit for long: when it will have been, if
    /// it is used now or by jobs in hand. After a job it looks once more, so that in a row of short jobs not each one
    /// has to wake it.
    func storeNoticeTime(now: Double) -> Double? {
      if let storeUse { return storeUse + WorkerConnection.storeNotice }
      if !session.notBegun.isEmpty, !isInPlugin { return now + WorkerConnection.storeNotice }
      return lastBegin.map { $0 + WorkerConnection.storeNotice }.flatMap { $0 > now ? $0 : nil }
    }
  }

  let condition = MonotonicCondition()
  var state = State()
  let connection: Connection
  /// Held while messages are received and handled. Comes before `condition`.
  private let receiving = NSLock()
  /// The socket as the main thread sees it: an epoll instance that the jobs' thread can make blind for the socket while
  /// the main thread waits for it.
  private let mainView: Descriptor
  /// Nil where the process is not a worker's own: in a test.
  private let signals: WorkerSignals?
  private let orphanDeadline: Double
  /// The thread of the jobs; 0 before there is one.
  private let jobsThread = Atomic<pid_t>(0)
  /// Wakes the main thread when a deadline was set or the work is over.
  private let wake: Int32
  /// Wakes the jobs' thread while it listens.
  let wakeJobs: Int32
  /// Readable while any job should stop.
  let stopDescriptor: Int32
  /// Whether any job should stop: written with the state, and read without the lock, so that jobs may ask often.
  let stopFlag = Atomic<Bool>(false)

  /// The credit of a worker that does not know yet how long jobs take.
  private static let firstCredit = 2

  /// Milliseconds after which the statements of a job that should stop are interrupted again: it may have begun another
  /// one.
  private static let interruptInterval = 200.0

  /// Seconds that WorkerKit waits for the store before it says so.
  static let storeNotice = 3.0

  /// Interrupts the SQL statements that run now. Set before there is a second thread.
  var interruptStatements: @Sendable () -> Void = {}

  /// Takes over the connection and says hello.
  ///
  /// - Parameters:
  ///   - descriptor: the worker's end.
  ///   - orphanDeadline: seconds that a job may go on after the pool's death.
  init(descriptor: Int32, signals: WorkerSignals?, kinds: [String], orphanDeadline: Double) throws {
    self.signals = signals
    self.orphanDeadline = orphanDeadline
    connection = try Connection(descriptor: descriptor)
    wake = csystem_eventfd()
    wakeJobs = csystem_eventfd()
    stopDescriptor = csystem_eventfd()
    guard wake >= 0, wakeJobs >= 0, stopDescriptor >= 0 else { throw SystemCallError("eventfd") }
    mainView = try Descriptor(csystem_epoll_create(), "epoll_create1")
    guard csystem_epoll_add(mainView.number, descriptor, UInt32(CSYSTEM_READABLE)) == 0 else {
      throw SystemCallError("epoll_ctl")
    }
    change { $0.session.open(kinds: kinds, credit: Self.firstCredit) }
  }

  // MARK: The main thread

  /// What the main thread waits for, as it was at one moment.
  private struct Waiting {
    /// The exit code when the work is over and all is sent.
    let exitCode: Int32?
    let deadline: (at: Double, job: ObjectURI)?
    let isConnected: Bool
    /// The socket has not taken all messages.
    let hasUnsent: Bool
    let isInterrupting: Bool
    let orphanEnd: Double?
    let storeNotice: Double?
    let groupEnd: Double?

    /// When the main thread has something to do although nothing was received.
    var end: Double? { [deadline?.at, orphanEnd, storeNotice, groupEnd].compactMap(\.self).min() }
  }

  /// Listens until the work is over; returns the exit code.
  func serve() -> Int32 {
    while true {
      let waiting = nextWaiting()
      if let exitCode = waiting.exitCode { return exitCode }
      var watched = [
        pollfd(fd: waiting.isConnected ? mainView.number : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        pollfd(fd: waiting.hasUnsent ? connection.descriptor : -1, events: Int16(POLLOUT), revents: 0),
      ]
      // The jobs' thread does not wake this one for each job: it looks now and then while there are any.
      var milliseconds = waiting.end.map { max(0, ($0 - Clock.now) * 1000).rounded(.up) } ?? -1
      if waiting.isInterrupting {
        milliseconds = milliseconds < 0 ? Self.interruptInterval : min(milliseconds, Self.interruptInterval)
      }
      guard poll(&watched, 4, Int32(min(milliseconds, 1e9))) >= 0 || errno == EINTR else { return 71 }
      if watched[0].revents != 0 || watched[3].revents != 0 { receive() }
      if watched[1].revents != 0 { handleSignals() }
      if watched[2].revents != 0 {
        var count: UInt64 = 0
        _ = read(wake, &count, 8)
      }
      if let deadline = waiting.deadline, deadline.at <= Clock.now { passed(deadline) }
      if waiting.groupEnd != nil { cutLateGroup() }
      noteSlowStore()
      if let orphanEnd = waiting.orphanEnd, orphanEnd <= Clock.now { orphanTimePassed() }
    }
  }

  /// Interrupts the statements of a job that should stop.
  private func nextWaiting() -> Waiting {
    condition.withLock {
      let isSent = state.isClosed || (state.session.outgoing.isEmpty && connection.unsentBytes == 0)
      let isInterrupting = state.isInPlugin && !state.session.stops.isEmpty
      if isInterrupting { interruptStatements() }
      let waiting = Waiting(
        exitCode: state.session.isOver && isSent ? (state.session.refusal == nil ? 0 : 65) : nil,
        deadline: state.deadline, isConnected: !state.isClosed,
        hasUnsent: !state.isClosed && connection.unsentBytes > 0, isInterrupting: isInterrupting,
        orphanEnd: state.orphanEnd, storeNotice: state.storeNoticeTime(now: Clock.now),
        groupEnd: state.group.flatMap { $0.laterJobs.isEmpty ? nil : $0.end })
      state.wakesAt = waiting.end
      return waiting
    }
  }

  /// Handles what has come through the socket, on the thread that listens. The other one may have been faster.
  func receive() {
    receiving.withLock {
      repeat {
        // A malformed or closed stream means that the coordinator is gone.
        guard let received = try? connection.receive() else { return closed() }
        switch received {
        case .lines(let lines): handle(lines)
        case .closed(let lines):
          handle(lines)
          return closed()
        }
        // The end of the stream, or bytes that are not a line, came with these lines: no event announces that again.
      } while connection.hasMore
    }
  }

  private func handle(_ lines: [String]) {
    var messages: [CoordinatorMessage] = []
    for line in lines {
      // A line that this version does not understand counts as the end of the stream, as in `receive`.
      guard let message = try? CoordinatorMessage(line: line) else { return closed() }
      messages.append(message)
    }
    change { state in
      for message in messages {
        state.session.receive(message)
        if case .saved(let change, let objects) = message { state.saved.add(change, objects) }
      }
    }
  }

  /// The supervisor is gone: the job in hand is finished and committed, then the process ends.
  private func closed() {
    change { state in
      if !state.isClosed {
        state.orphanEnd = Clock.now + orphanDeadline
        if let failure = connection.failure { complain("the connection to the pool is given up: \(failure)") }
      }
      state.isClosed = true
      state.session.close()
    }
    // It ends an orphan in time, and may not be the one that has noticed.
    wakeMainThread()
  }

  /// Whether the connection ended before the work did.
  var isOrphan: Bool { inspect { $0.orphanEnd != nil && $0.session.refusal == nil } }

  /// Seconds that a job gets to stop when it has been asked to.
  private static let stopGrace = 5.0

  /// Reports once that the store does not answer.
  private func noteSlowStore() {
    let isSlow = condition.withLock {
      guard let since = state.storeUse, Clock.now - since >= Self.storeNotice else { return false }
      state.storeUse = nil
      return true
    }
    if isSlow {
      waitsForStore(.locked)
      complain("the store has not answered for \(Clock.text(Self.storeNotice)): it waits for a lock, or much is saved")
    }
  }

  /// The pool is gone, so this process asks its own job to stop, as the pool would, and then ends itself.
  private func orphanTimePassed() {
    change { state in
      if state.session.isTerminated {
        for child in OwnChildren.all() { kill(child, SIGKILL) }
        kill(getpgrp() == getpid() ? 0 : getpid(), SIGKILL)
      }
      state.session.terminate()
      state.orphanEnd = Clock.now + Self.stopGrace
    }
  }

  private func handleSignals() {
    while let signal = signals?.next() {
      if signal == SIGTERM {
        change { $0.session.terminate() }
      } else if signals?.isParentGone == true {
        closed()
      }
    }
  }

  private func cutLateGroup() {
    change { state in
      if let group = state.group, group.end <= Clock.now { state.cutGroup() }
    }
  }

  private func passed(_ deadline: (at: Double, job: ObjectURI)) {
    // It may have been put off meanwhile.
    func isDue(_ state: State) -> Bool { state.deadline.map { $0 == deadline } ?? false }
    guard inspect(isDue) else { return }
    let stack = jobsStack()
    change { state in
      guard isDue(state) else { return }
      state.deadline = nil
      state.lateStack = (deadline.job, stack)
      state.session.stop(deadline.job, .timedOut)
    }
  }

  /// Where the jobs' thread is now. Empty in a test: there the process has no handler for the signal.
  private func jobsStack() -> [String] {
    let thread = jobsThread.load(ordering: .relaxed)
    return signals == nil || thread == 0 ? [] : StackFrame.lines(ofThread: thread)
  }

  /// The jobs run on the thread that calls this.
  func noteJobsThread() { jobsThread.store(csystem_thread_id(), ordering: .relaxed) }

  // MARK: Both threads

  func inspect<T>(_ body: (State) -> T) -> T {
    condition.withLock { body(state) }
  }

  func change(_ body: (inout State) -> Void) {
    condition.lock()
    body(&state)
    noteStops()
    sendOutgoing()
    wakeJobsThread()
    condition.unlock()
  }

  /// The lock is held.
  private func wakeJobsThread() {
    guard state.isJobsThreadListening else { return condition.signal() }
    var one: UInt64 = 1
    _ = write(wakeJobs, &one, 8)
  }

  /// Decides which thread listens: the one of jobs, or the main thread. The lock is held. The main thread goes on
  /// waiting meanwhile.
  func letMainThreadListen(_ listens: Bool) {
    // It cannot fail: the socket is in the set until it is closed (epoll_ctl(2)).
    _ = csystem_epoll_modify(mainView.number, connection.descriptor, listens ? UInt32(CSYSTEM_READABLE) : 0)
  }

  /// Lets the jobs know whether any of them should stop. The lock is held.
  func noteStops() {
    let isAny = !state.session.stops.isEmpty
    guard isAny != stopFlag.load(ordering: .relaxed) else { return }
    stopFlag.store(isAny, ordering: .relaxed)
    var count: UInt64 = 1
    if isAny { _ = write(stopDescriptor, &count, 8) } else { _ = read(stopDescriptor, &count, 8) }
  }

  /// Sends the outgoing messages. Wakes the main thread for what the socket does not take, and for the end. The lock is
  /// held.
  func sendOutgoing() {
    if !state.session.outgoing.isEmpty {
      if !state.isClosed { connection.send { $0 += state.session.outgoing } }
      state.session.outgoing.removeAll(keepingCapacity: true)
    }
    let isOut = connection.flush()
    if !isOut || state.session.isOver { wakeMainThread() }
  }

  /// Sees to it that the main thread is awake by that time. The lock is held.
  func wakeMainThread(by time: Double) {
    if state.wakesAt.map({ time < $0 }) ?? true { wakeMainThread() }
  }

  func wakeMainThread() {
    var one: UInt64 = 1
    _ = write(wake, &one, 8)
  }
}
