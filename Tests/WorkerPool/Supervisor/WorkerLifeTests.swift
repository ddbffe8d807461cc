import Glibc
import LinuxSystem
import Testing

@testable import WorkerPool

private typealias State = WorkerLife.State
private typealias Event = WorkerLife.Event
private typealias Effect = WorkerLife.Effect

private let shortage = SystemCallError("spawn", path: "worker", number: EAGAIN)

/// One event of each kind, in the order of the table.
private let events: [(name: String, event: Event)] = [
  ("started", .started), ("fails", .couldNotStart(shortage)), ("hi", .hello),
  ("refused", .refused(.wrongVersion([9]))), ("leaves", .disconnected), ("retire", .retire), ("keep", .keep),
  ("drain", .drain), ("idle", .idle), ("stop", .terminate), ("hung", .hung(seconds: 30)),
  ("over", .overran(.timedOut)), ("kill", .kill(.timedOut)), ("time", .deadline),
  ("exited", .exited(.exited(code: 1))),
]

/// The state that follows on each event; a dot where the event is ignored.
private let table = """
           started  fails hi refused leaves  retire   keep drain    idle     stop     hung   over   kill   time   exited
  spawning greeting gone  .  .       .       .        .    unwanted .        unwanted .      gone   gone   gone   .
  unwanted ending   gone  .  .       .       .        .    .        .        .        .      gone   gone   gone   .
  greeting .        .     up refused .       .        .    ending   .        ending   .      killed killed silent gone
  refused  .        .     .  .       .       .        .    .        .        ending   .      killed killed killed gone
  silent   .        .     .  .       .       .        .    .        .        .        .      .      .      .      gone
  up       .        .     .  .       severed retiring .    draining .        ending   ending ending killed .      gone
  retiring .        .     .  .       severed .        up   draining .        ending   ending ending killed .      gone
  draining .        .     .  .       closing .        .    .        draining ending   ending ending killed ending gone
  closing  .        .     .  .       .       .        .    .        .        ending   ending ending killed killed gone
  severed  .        .     .  .       .       .        .    .        .        ending   ending ending killed killed gone
  ending   .        .     .  .       .       .        .    .        .        .        .      killed killed killed gone
  killed   .        .     .  .       .       .        .    .        .        .        .      .      .      .      gone
  gone     .        .     .  .       .       .        .    .        .        .        .      .      .      .      .
  """

/// What leads to each state.
private let ways: [State: [Event]] = [
  .spawning: [], .unwanted: [.drain], .greeting: [.started], .refused: [.started, .refused(.wrongVersion([9]))],
  .silent: [.started, .deadline], .up: [.started, .hello], .retiring: [.started, .hello, .retire],
  .draining: [.started, .hello, .drain], .closing: [.started, .hello, .drain, .disconnected],
  .severed: [.started, .hello, .disconnected], .ending: [.started, .hello, .terminate],
  .killed: [.started, .hello, .kill(.timedOut)], .gone: [.kill(.stopped)],
]

private func makeLife(after events: [Event]) -> WorkerLife {
  var life = WorkerLife(helloTimeout: 10)
  for event in events { _ = life.handle(event) }
  return life
}

private func makeLife(in state: State) throws -> WorkerLife { makeLife(after: try #require(ways[state])) }

/// What the last of the events has as its effects.
private func effects(of events: Event...) -> [Effect] {
  var life = makeLife(after: events.dropLast())
  return events.last.map { life.handle($0) } ?? []
}

@Suite struct WorkerLifeTests {
  @Test func everyEventInEveryStateLeadsWhereTheTableSays() throws {
    let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines[0] == events.map { $0.name })
    #expect(lines.dropFirst().compactMap(\.first) == State.allCases.map(\.rawValue))
    for line in lines.dropFirst() {
      let state = try #require(State(rawValue: line[0]))
      for (column, next) in line.dropFirst().enumerated() {
        let before = try makeLife(in: state)
        #expect(before.state == state)
        var after = before
        let effects = after.handle(events[column].event)
        let comment: Comment = "\(state), \(events[column].name)"
        if next == "." {
          #expect(after == before, comment)
          #expect(effects.isEmpty, comment)
        } else {
          #expect(after.state.rawValue == next, comment)
        }
      }
    }
  }

  // MARK: What follows

  @Test func aProcessIsAnnouncedWhenItIsThere() {
    #expect(effects(of: .started) == [.announce])
    #expect(effects(of: .drain, .started) == [.announce], "its signal waits for it")
    #expect(effects(of: .started, .hello) == [.cameUp])
  }

  @Test func aProcessThatCannotBeStartedBlamesItsPluginUnlessNobodyWantsItAnyMore() {
    #expect(effects(of: .couldNotStart(shortage)) == [.forget, .blameStart(shortage)])
    #expect(effects(of: .drain, .couldNotStart(shortage)) == [.forget])
    #expect(effects(of: .deadline) == [.forget, .blameFileSystem])
    #expect(effects(of: .terminate, .deadline) == [.forget])
  }

  @Test func aProcessThatSaysNoHelloIsKilled() {
    #expect(
      effects(of: .started, .deadline) == [.log(.workerKilled, "is killed"), .signal(SIGKILL)])
  }

  @Test func aProcessWhoseHelloIsBadHasTimeToExit() {
    #expect(
      effects(of: .started, .refused(.wrongVersion([9]))) == [.tellRefusal(.wrongVersion([9])), .wait(.exit)])
  }

  /// Each further hello would win it more time.
  @Test func aProcessThatWasRefusedIsRefusedOnce() {
    let refused = makeLife(after: [.started, .refused(.wrongVersion([9]))])
    var again = refused
    let effects = again.handle(.refused(.foreignKinds(["a"])))
    #expect(effects.isEmpty && again == refused)
  }

  @Test func aProcessIsAskedBeforeItIsKilled() {
    let end: [Effect] = [.signal(SIGTERM), .wait(.exit)]
    #expect(effects(of: .started, .hello, .terminate) == [.log(.workerTerminated, "is told to stop")] + end)
    #expect(
      effects(of: .started, .drain)
        == [.log(.workerDraining, "is not needed any more and ends before it is up")] + end)
    #expect(
      effects(of: .started, .hello, .drain) == [.log(.workerDraining, "finishes its jobs and exits"), .tellDrain])
    #expect(
      effects(of: .started, .hello, .terminate, .deadline)
        == [.log(.workerKilled, "is killed"), .signal(SIGKILL)])
  }

  @Test func aProcessWithoutAJobHasTimeToExitAndIsAskedBeforeItIsKilled() {
    #expect(effects(of: .started, .hello, .drain, .idle) == [.wait(.exit)])
    #expect(
      effects(of: .started, .hello, .drain, .idle, .deadline) == [
        .log(.workerTerminated, "has no job and does not exit; it is told to stop"), .signal(SIGTERM), .wait(.exit),
      ])
  }

  @Test func aProcessThatHangsPrintsItsStacks() {
    #expect(
      effects(of: .started, .hello, .hung(seconds: 30)) == [
        .log(.workerHung, "has not answered for 30 s; its stacks follow"), .signalLeader(SIGQUIT),
        .signalLeader(SIGCONT), .wait(.stacks),
      ])
  }

  @Test func aProcessWhoseJobOverranPrintsItsStacksAndIsKilled() {
    #expect(
      effects(of: .started, .hello, .overran(.timedOut)) == [
        .log(.workerHung, "has not stopped its job, which takes too long; its stacks follow"), .signalLeader(SIGQUIT),
        .signalLeader(SIGCONT), .wait(.stacks),
      ])
    #expect(
      effects(of: .started, .hello, .overran(.timedOut), .deadline)
        == [.log(.workerKilled, "is killed"), .signal(SIGKILL)])
    #expect(makeLife(after: [.started, .hello, .overran(.timedOut)]).isPrintingStacks)
    #expect(!makeLife(after: [.started, .hello, .overran(.timedOut), .deadline]).isPrintingStacks)
    #expect(!makeLife(after: [.started, .hello, .terminate]).isPrintingStacks)
    #expect(effects(of: .started, .overran(.timedOut)) == [.log(.workerKilled, "is killed"), .signal(SIGKILL)])
  }

  // MARK: Why it ended

  /// Events in the life of a process, how it ends, and what that says.
  private typealias End = ([Event], Death, Obituary.Cause, WorkerLife.Ending)

  private static let ends: [End] = [
    // It exits by itself.
    ([.started], Death.exited(code: 0), Obituary.Cause.itself, WorkerLife.Ending.neverCameUp(nil)),
    ([.started, .hello], .exited(code: 0), .itself, .died(mayBlamePlugin: true)),
    ([.started, .hello, .disconnected], .exited(code: 0), .itself, .died(mayBlamePlugin: true)),
    ([.started, .hello, .retire], .exited(code: 1), .itself, .died(mayBlamePlugin: true)),
    // It was told to go.
    ([.started, .hello, .drain], .exited(code: 0), .itself, .wanted),
    ([.started, .hello, .drain, .disconnected], .exited(code: 0), .itself, .wanted),
    ([.started, .hello, .drain], .exited(code: 1), .itself, .died(mayBlamePlugin: true)),
    ([.started, .drain], .signalled(SIGTERM), .stopped, .wanted),
    ([.started, .hello, .terminate], .signalled(SIGTERM), .stopped, .wanted),
    ([.started, .hello, .terminate, .deadline], .signalled(SIGKILL), .stopped, .wanted),
    ([.drain, .started], .signalled(SIGTERM), .stopped, .wanted),
    // A user kills it, or the kernel for want of memory.
    ([.started], .signalled(SIGKILL), .itself, .died(mayBlamePlugin: true)),
    ([.started, .hello], .signalled(SIGKILL), .itself, .died(mayBlamePlugin: true)),
    // The pool kills it.
    ([.started, .hello, .kill(.timedOut)], .signalled(SIGKILL), .timedOut, .died(mayBlamePlugin: false)),
    ([.started, .hello, .kill(.timedOut)], .exited(code: 0), .timedOut, .wanted),
    ([.started, .hello, .overran(.timedOut), .deadline], .signalled(SIGKILL), .timedOut, .died(mayBlamePlugin: false)),
    ([.started, .hello, .overran(.timedOut)], .signalled(SIGQUIT), .timedOut, .died(mayBlamePlugin: false)),
    ([.started, .hello, .kill(.stopped)], .signalled(SIGKILL), .stopped, .wanted),
    (
      [.started, .hello, .hung(seconds: 30), .deadline], .signalled(SIGKILL), .hung(seconds: 30),
      .died(mayBlamePlugin: false)
    ),
    (
      [.started, .hello, .hung(seconds: 30), .kill(.timedOut)], .signalled(SIGKILL), .timedOut,
      .died(mayBlamePlugin: false)
    ),
    (
      [.started, .hello, .disconnected, .deadline], .signalled(SIGKILL), .disconnected,
      .died(mayBlamePlugin: true)
    ),
    // It never came up.
    (
      [.started, .deadline], .signalled(SIGKILL), .silent(seconds: 10),
      .neverCameUp(.silent(seconds: 10))
    ),
    (
      [.started, .refused(.wrongVersion([9]))], .exited(code: 0), .itself, .neverCameUp(.wrongVersion([9]))
    ),
    (
      [.started, .refused(.wrongVersion([9])), .deadline], .signalled(SIGKILL), .disconnected,
      .neverCameUp(.wrongVersion([9]))
    ),
  ]

  @Test func itsEndSaysWhoIsToBlame() {
    for (events, death, cause, ending) in Self.ends {
      var life = makeLife(after: events)
      let effects = life.handle(.exited(death))
      #expect(effects == [.bury(death, ending)], "\(events)")
      #expect(life.cause == cause, "\(events)")
    }
  }

  // MARK: Slots

  @Test func aProcessThatRetiresGivesItsSlotToItsSuccessorUntilItIsKept() {
    var life = makeLife(after: [.started, .hello])
    #expect(life.isStaying && !life.hasGivenSlotAway)
    _ = life.handle(.retire)
    #expect(!life.isStaying && life.hasGivenSlotAway && life.phase == .up)
    var kept = life
    _ = kept.handle(.keep)
    #expect(kept.isStaying && !kept.hasGivenSlotAway)
    _ = life.handle(.drain)
    #expect(life.hasGivenSlotAway, "its successor has the slot")
  }

  @Test func aStatusShowsFivePhases() throws {
    let phases = try State.allCases.map { try makeLife(in: $0).phase.rawValue }
    #expect(
      phases == [
        "starting", "terminating", "starting", "starting", "starting", "up", "up", "draining", "draining", "up",
        "terminating", "killed", "killed",
      ])
    #expect(try State.allCases.filter { try makeLife(in: $0).isStaying } == [.spawning, .greeting, .silent, .up])
  }

  // MARK: Whatever happens

  /// All lives that any sequence of events leads to, each with the effects on the way there.
  @Test func noProcessIsForgottenOrLeftWaiting() {
    var seen: Set<String> = []
    var open: [(life: WorkerLife, path: [String], isThere: Bool, hasTime: Bool)] = [
      (WorkerLife(helloTimeout: 10), [], false, true)
    ]
    while let (life, path, isThere, hasTime) = open.popLast() {
      for (name, event) in events {
        var next = life
        let effects = next.handle(event)
        let comment: Comment = "\(path + [name])"
        let nowThere = isThere || effects.contains(.announce)
        let ends = effects.count { if case .bury = $0 { true } else { $0 == .forget } }
        #expect(ends == (life.state != .gone && next.state == .gone ? 1 : 0), comment)
        if effects.contains(.forget) { #expect(!isThere, comment) }
        if ends == 1, isThere { #expect(effects.contains { if case .bury = $0 { true } else { false } }, comment) }
        if life.state == .killed || life.state == .silent {
          #expect(!effects.contains { if case .signal = $0 { true } else { false } }, comment)
        }
        // Only a process that works may take as long as it likes, and one that was killed as long as the kernel does.
        let mayTakeItsTime = [.up, .retiring, .draining, .killed, .silent, .gone].contains(next.state)
        let waits = effects.contains { if case .wait = $0 { true } else { false } }
        let nowHasTime = waits || hasTime && !effects.contains(.cameUp)
        #expect(mayTakeItsTime || nowHasTime, comment)
        if seen.insert("\(next) \(nowThere) \(nowHasTime)").inserted {
          open.append((next, path + [name], nowThere, nowHasTime))
        }
      }
    }
    #expect(seen.count > State.allCases.count)
  }
}
