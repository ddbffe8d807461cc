import Glibc
import LinuxSystem

/// The life of a worker process, from the request for one to its end: a pure state machine.
///
///     spawning ──started──▶ greeting ──hello──▶ up ──retire──▶ retiring ──drain──▶ draining ──leaves──▶ closing
///
/// All other states leave this path. A process may be `unwanted` before it is there. It is `refused` for an invalid
/// hello and `silent` without one. It is `severed` when it closes its connection unasked. It is `ending` from SIGTERM
/// on, and `killed` from SIGKILL on. `WorkerLifeTests` has the table of all states and events.
///
/// The supervisor passes on what happens to the process, and carries out the effects.
struct WorkerLife: Equatable, Sendable {
  enum State: String, Codable, CaseIterable, Sendable {
    /// Its program is being executed. There is no process, as far as is known.
    case spawning
    /// There is still no process, and none is needed any more. If one comes into being, it gets SIGTERM at once.
    case unwanted
    /// The process is there and has not said hello.
    case greeting
    /// Its hello was not valid. It has some time to exit.
    case refused
    /// It was killed because it had not said hello in time.
    case silent
    /// It takes jobs.
    case up
    /// It takes jobs until its successor is up.
    case retiring
    /// It takes no more jobs, finishes what it has, and exits. Without a job it has some time for that.
    case draining
    /// It has finished, and closed its connection. It has some time to exit.
    case closing
    /// It closed its connection without being told to, or broke the protocol. It has some time to exit.
    case severed
    /// It was told to stop the job in hand, or, because it hangs, to print its stacks. It has some time to exit.
    case ending
    /// It was killed, and is about to be reaped.
    case killed
    /// There is no process any more.
    case gone

    /// Whether a process counts for its plugin's slots. One that was killed for its silence does: the next process is
    /// started when it is known how this one ended.
    var isStaying: Bool {
      switch self {
      case .spawning, .greeting, .silent, .up: true
      default: false
      }
    }
  }

  /// Seconds that a process has to say hello.
  let helloTimeout: Double
  private(set) var state = State.spawning
  /// The cause of its end, as far as it is known.
  private(set) var cause = Obituary.Cause.itself
  /// Why it never came up, when that is known before its end.
  private(set) var failure: StartFailure?
  /// Its slot belongs to its successor, since it was told to retire.
  private(set) var hasGivenSlotAway = false

  init(helloTimeout: Double) { self.helloTimeout = helloTimeout }

  /// Goes on with a process of the program before this one, in one of the states ``canBeHandedOver``.
  init(helloTimeout: Double, _ state: State, hasGivenSlotAway: Bool) {
    self.helloTimeout = helloTimeout
    self.state = state
    self.hasGivenSlotAway = hasGivenSlotAway
  }

  /// Whether another program may go on with the process: it does its work, and no time runs for it. All other states
  /// pass within seconds.
  var canBeHandedOver: Bool { [.up, .retiring, .draining].contains(state) }

  /// Whether it counts for its plugin's slots.
  var isStaying: Bool { state.isStaying }

  /// What a status shows of it.
  var phase: Phase {
    switch state {
    case .spawning, .greeting, .refused, .silent: .starting
    case .up, .retiring, .severed: .up
    case .draining, .closing: .draining
    case .unwanted, .ending: .terminating
    case .killed, .gone: .killed
    }
  }

  /// The states as a status tells them.
  enum Phase: String, Sendable {
    case starting, up, draining, terminating, killed
  }
}

// MARK: - The table

extension WorkerLife {
  /// Goes on to the next state; returns the effects in order. An event that means nothing in a state is ignored.
  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .started: started()
    case .couldNotStart(let error): couldNotStart(error)
    case .hello: hello()
    case .refused(let failure): refused(failure)
    case .disconnected: disconnected()
    case .retire: retire()
    case .keep: keep()
    case .drain: drain()
    case .idle: idle()
    case .terminate: terminate()
    case .hung(let seconds): hung(seconds)
    case .overran(let cause): overran(cause)
    case .kill(let cause): kill(cause)
    case .deadline: deadline()
    case .exited(let death): exited(death)
    }
  }

  private mutating func started() -> [Effect] {
    switch state {
    case .spawning: state = .greeting
    // The SIGTERM of that time reaches it now.
    case .unwanted: state = .ending
    default: return []
    }
    return [.announce]
  }

  private mutating func couldNotStart(_ error: SystemCallError) -> [Effect] {
    switch state {
    case .spawning:
      state = .gone
      return [.forget, .blameStart(error)]
    case .unwanted:
      state = .gone
      return [.forget]
    default: return []
    }
  }

  private mutating func hello() -> [Effect] {
    guard state == .greeting else { return [] }
    state = .up
    return [.cameUp]
  }

  private mutating func refused(_ failure: StartFailure) -> [Effect] {
    guard state == .greeting else { return [] }
    state = .refused
    self.failure = failure
    return [.tellRefusal(failure), .wait(.exit)]
  }

  private mutating func disconnected() -> [Effect] {
    switch state {
    case .up, .retiring: state = .severed
    case .draining: state = .closing
    default: return []
    }
    return [.wait(.exit)]
  }

  private mutating func retire() -> [Effect] {
    guard state == .up else { return [] }
    state = .retiring
    hasGivenSlotAway = true
    return []
  }

  private mutating func keep() -> [Effect] {
    hasGivenSlotAway = false
    if state == .retiring { state = .up }
    return []
  }

  private mutating func drain() -> [Effect] {
    switch state {
    case .spawning:
      state = .unwanted
      return end(.workerDraining, Self.notNeeded)
    case .greeting:
      state = .ending
      return end(.workerDraining, Self.notNeeded)
    case .up, .retiring:
      state = .draining
      return [.log(.workerDraining, "finishes its jobs and exits"), .tellDrain]
    default: return []
    }
  }

  private mutating func idle() -> [Effect] { state == .draining ? [.wait(.exit)] : [] }

  private static let notNeeded = "is not needed any more and ends before it is up"

  private mutating func terminate() -> [Effect] {
    switch state {
    case .spawning: state = .unwanted
    case .greeting, .refused, .up, .retiring, .draining, .closing, .severed: state = .ending
    default: return []
    }
    return end(.workerTerminated, "is told to stop")
  }

  /// SIGTERM, and SIGKILL for one that goes on.
  private mutating func end(_ event: LogEvent, _ text: String) -> [Effect] {
    cause = .stopped
    return [.log(event, text), .signal(SIGTERM), .wait(.exit)]
  }

  private mutating func hung(_ seconds: Double) -> [Effect] {
    switch state {
    case .up, .retiring, .draining, .closing, .severed: state = .ending
    default: return []
    }
    cause = .hung(seconds: seconds)
    return askForStacks("has not answered for \(Clock.text(seconds))")
  }

  private mutating func overran(_ cause: Obituary.Cause) -> [Effect] {
    switch state {
    case .up, .retiring, .draining, .closing, .severed: state = .ending
    default: return kill(cause)
    }
    self.cause = cause
    return askForStacks("has not stopped its job, which takes too long")
  }

  private func askForStacks(_ reason: String) -> [Effect] {
    // A stopped process prints nothing until it goes on.
    [
      .log(.workerHung, "\(reason); its stacks follow"), .signalLeader(SIGQUIT), .signalLeader(SIGCONT),
      .wait(.stacks),
    ]
  }

  /// Whether what it writes now are its stacks.
  var isPrintingStacks: Bool {
    switch cause {
    case .timedOut, .usedTooMuch, .hung: state == .ending
    default: false
    }
  }

  private mutating func kill(_ cause: Obituary.Cause) -> [Effect] {
    switch state {
    case .spawning, .unwanted:
      state = .gone
      return [.forget]
    case .greeting, .refused, .up, .retiring, .draining, .closing, .severed, .ending:
      state = .killed
      self.cause = cause
      return [.log(.workerKilled, "is killed"), .signal(SIGKILL)]
    case .silent, .killed, .gone: return []
    }
  }

  private mutating func deadline() -> [Effect] {
    switch state {
    case .spawning:
      state = .gone
      return [.forget, .blameFileSystem]
    case .greeting:
      failure = .silent(seconds: helloTimeout)
      let effects = kill(.silent(seconds: helloTimeout))
      state = .silent
      return effects
    case .refused, .closing, .severed: return kill(.disconnected)
    case .draining:
      state = .ending
      return end(.workerTerminated, "has no job and does not exit; it is told to stop")
    case .unwanted, .ending: return kill(cause)
    case .silent, .up, .retiring, .killed, .gone: return []
    }
  }

  private mutating func exited(_ death: Death) -> [Effect] {
    if [.spawning, .unwanted, .gone].contains(state) { return [] }
    let ending = ending(death)
    state = .gone
    return [.bury(death, ending)]
  }

  private func ending(_ death: Death) -> Ending {
    if cause == .stopped { return .wanted }
    if let failure { return .neverCameUp(failure) }
    let wasToldToGo = [.draining, .closing, .ending, .killed].contains(state)
    if wasToldToGo, death == .exited(code: 0) { return .wanted }
    // A process that a user or the OOM killer ended is not to blame for not having come up.
    if state == .greeting, death != .signalled(SIGKILL) { return .neverCameUp(nil) }
    return .died(mayBlamePlugin: cause == .itself || cause == .disconnected)
  }
}
