import Foundation
import Testing

/// Each system call of the pool and of its workers that can fail does so: the pool does not crash, the reason is shown,
/// and when it is over every job has taken effect once.
///
/// By default each kind of call on each kind of file fails once, in turn at its first and at its last occurrence.
/// `WORKERPOOL_FAULTS=all` lets every single call fail with every error, once and for good, which takes hours;
/// `WORKERPOOL_FAULTS=2/4` is the second quarter of that.
@Suite(.serialized) struct FaultLoopTests {
  /// Which part of all faults is wanted; `nil` for the few of the default run.
  private static let part: (number: Int, of: Int)? = {
    guard let text = ProcessInfo.processInfo.environment["WORKERPOOL_FAULTS"] else { return nil }
    let numbers = text.split(separator: "/").compactMap { Int($0) }
    return numbers.count == 2 ? (numbers[0], numbers[1]) : (1, 1)
  }()

  @Test(.timeLimit(.minutes(600)), arguments: FaultyPool.Program.allCases)
  func whateverFailsNothingIsLostAndTheReasonIsShown(program: FaultyPool.Program) throws {
    let place = try TestPlace()
    let library = try FaultyPool.library(in: place)
    let faults = try faults(of: program, library, place)
    for fault in faults { try check(fault, library) }
    print("fault loop: \(faults.count) faults of the \(program)")
  }

  /// The machine has no thread to give for a moment, for each thread that the pool itself starts.
  @Test(.timeLimit(.minutes(20)))
  func aPoolThatGetsNoThreadTriesAgain() throws {
    let place = try TestPlace()
    let library = try FaultyPool.library(in: place)
    let calls = try self.calls(of: .supervisor, library, place)
      .filter { $0.group == "thread" && $0.file.hasPrefix("workerpool") }
    #expect(calls.count >= 4, "the log, the store, the plugin directory and the plugin each have one")
    for call in calls { try check(FaultyPool.Fault(program: .supervisor, call: call, error: EAGAIN), library) }
  }

  /// The pool is killed before each call with which it takes files, makes them durable, removes and forgets them: no
  /// job is lost or taken twice, and bad files go where they belong.
  @Test(.timeLimit(.minutes(600)))
  func whereverThePoolIsKilledItsFilesAreTakenOnce() throws {
    let place = try TestPlace()
    let library = try FaultyPool.library(in: place)
    var calls = try self.calls(of: .supervisor, library, place)
    if let part = Self.part {
      calls = calls.enumerated().filter { $0.offset % part.of == part.number - 1 }.map(\.element)
    } else {
      calls = intakeCalls(among: calls)
    }
    for call in calls {
      let items = try itemsWithJobs()
      let fault = FaultyPool.Fault(program: .supervisor, call: call, mode: .kill, error: 0)
      let pool = try FaultyPool(items, library: library, program: .supervisor, fault: fault)
      // Runs differ a little: where the last calls are never made the pool is told to end.
      try pool.follow(silences: 30) { _ in false }
      _ = pool.end()
      try finish(items)
      #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "3", "\(fault)\n\(pool.log)")
    }
    print("fault loop: killed before \(calls.count) calls")
  }

  /// Each rename, removal and synchronisation, and of the other calls those from the first rename to the last removal.
  private func intakeCalls(among calls: [FaultyPool.Call]) -> [FaultyPool.Call] {
    let steps = calls.indices.filter { ["rename", "unlink", "sync"].contains(calls[$0].group) }
    guard let first = calls.firstIndex(where: { $0.group == "rename" && $0.file.hasSuffix("-jobs.json") }),
      let last = calls.lastIndex(where: { $0.group == "unlink" && $0.file.hasSuffix("-jobs.json") }), first < last
    else { return [] }
    // Of neighbours of one kind on one file, such as the log's frames, the first stands for all.
    let between = (first...last).filter { index in
      calls[index].group != calls[index - 1].group || calls[index].file != calls[index - 1].file
    }
    return Set(steps + between).sorted().map { calls[$0] }
  }

  /// The calls of a run in which nothing fails.
  private func calls(
    of program: FaultyPool.Program, _ library: String, _ place: TestPlace
  ) throws -> [FaultyPool.Call] {
    let items = try itemsWithJobs()
    let record = place.path("calls")
    let pool = try FaultyPool(items, library: library, program: program, fault: nil, record: record)
    try pool.follow(silences: 300) { log in try log.contains("is rejected") && isDone(items) }
    #expect(pool.end() == (0, false), "\(pool.log)")
    let calls = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n")
      .compactMap(FaultyPool.Call.init(line:))
    try #require(calls.count > 50, "\(pool.log)")
    return calls
  }

  /// What is to fail: the calls of a run in which nothing does.
  private func faults(
    of program: FaultyPool.Program, _ library: String, _ place: TestPlace
  ) throws -> [FaultyPool.Fault] {
    let calls = try self.calls(of: program, library, place)
    let groups: Set =
      program == .supervisor
      ? ["write", "sync", "rename", "send", "spawn", "open", "lock", "read", "socket"]
      : ["write", "send", "open", "lock", "read"]
    #expect(Set(calls.map(\.group)).isSuperset(of: groups))
    if let part = Self.part {
      let all = calls.flatMap { call in
        call.errors.flatMap { error in
          // Without any thread Dispatch, which runs the store's work, tries for ever.
          let modes: [FaultyPool.Fault.Mode] = call.group == "thread" ? [.once] : [.once, .ever]
          return modes.map { FaultyPool.Fault(program: program, call: call, mode: $0, error: error) }
        }
      }
      return all.enumerated().filter { $0.offset % part.of == part.number - 1 }.map(\.element)
    }
    // Names of job files and temporary files differ from run to run.
    let classes = Dictionary(grouping: calls) { call in
      let file = call.file.replacing(/[0-9A-Fa-f-]{8,}/, with: "#")
      return "\(call.function) \(call.group == "open" || call.group == "lock" ? "" : file)"
    }
    let kinds = classes.values.sorted { $0[0].number < $1[0].number }
    return kinds.enumerated().compactMap { number, calls in
      guard let call = number % 2 == 0 ? calls.first : calls.last,
        let error = number % 2 == 0 ? call.errors.first : call.errors.last
      else { return nil }
      return FaultyPool.Fault(program: program, call: call, error: error)
    }.sorted { $0.call.number < $1.call.number }
  }

  /// Three jobs in one file, and a file that has to be rejected.
  private func itemsWithJobs() throws -> ItemPool {
    let items = try ItemPool(items: 3)
    let lines = items.items.map { #"{"kind": "add", "objects": ["\#($0)"]}"# }.joined(separator: "\n")
    for directory in ["incoming", "rejected"] {
      try FileManager.default.createDirectory(
        atPath: items.queue + "/" + directory, withIntermediateDirectories: true)
    }
    try Data(lines.utf8).write(to: URL(fileURLWithPath: items.queue + "/incoming/jobs.json"))
    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: items.queue + "/incoming/bad.json"))
    for name in ["jobs.json", "bad.json"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date() - 60], ofItemAtPath: items.queue + "/incoming/" + name)
    }
    return items
  }

  private func isDone(_ items: ItemPool) throws -> Bool {
    let tables = try sqlite(items.store, "SELECT count(*) FROM sqlite_master WHERE name = 'WPPOOLJOB'")
    return try tables == "1" && sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE = 3") == "3"
  }

  private func check(_ fault: FaultyPool.Fault, _ library: String) throws {
    let items = try itemsWithJobs()
    let pool = try FaultyPool(items, library: library, program: fault.program, fault: fault)
    // A fault for good may leave nothing to wait for but its being told; a lock is waited for, for half a minute,
    // before that.
    let silences = fault.isForGood && fault.program == .worker ? 450 : fault.isForGood ? 40 : 150
    try pool.follow(silences: silences) { log in
      try isDone(items) || fault.isForGood && tellsReason(log, fault)
    }
    let wasDone = try isDone(items)
    let ending = pool.end()
    #expect(!ending.isSignal, "\(fault): the pool was ended by signal \(ending.status)\n\(pool.log)")
    if !wasDone {
      // What a job's attempt failed of is kept with the job.
      let jobs = try run(Built.path("workerpool"), ["jobs", "--store", items.store, "--json"]).output
      #expect(tellsReason(pool.log + jobs, fault), "\(fault): the reason is not shown\n\(pool.log)\(jobs)")
    }

    try finish(items)
  }

  /// Without the fault the next pool does what is left.
  private func finish(_ items: ItemPool) throws {
    let next = try items.start()
    if try !next.command("jobs", "--state", "dead", "--json").output.isEmpty {
      #expect(try next.command("retry", "--state", "dead").code == 0)
    }
    try next.waitForJobs(3)
    try next.wait { $0.rejectedFiles == 1 }
    try next.stop()
    let rejected = items.queue + "/rejected"
    for file in try FileManager.default.contentsOfDirectory(atPath: rejected) { unlink(rejected + "/" + file) }
    try items.checkNothingIsLeft(of: next)
  }

  /// The error's own text, or SQLite's for it: a file that cannot be opened for writing is read-only to it, one that
  /// cannot be read malformed.
  private func tellsReason(_ log: String, _ fault: FaultyPool.Fault) -> Bool {
    let sentences = [
      String(cString: strerror(fault.error)), "disk is full", "disk I/O error", "unable to open database file",
      "database is locked", "locking protocol", "readonly database", "cannot be read as a data model",
      "it waits for a lock", "disk image is malformed",
    ]
    return sentences.contains { log.contains($0) }
  }
}
