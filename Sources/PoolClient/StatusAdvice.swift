import Jobs

/// The problems of a pool, each with what to do about it.
///
/// Each sentence says what is wrong, why, and which command helps. They come from the status alone: nothing is asked,
/// and the same status gives the same sentences. `workerpool status` prints them under "what to do", the web page and
/// the screen of `status --watch` show them, too.
public enum StatusAdvice {
  /// The size of a write-ahead log, in bytes, from which it counts as too long.
  static let longLog = 64 << 20
  /// Seconds after which a job that reports no progress may hang.
  static let longJob = 600.0
  /// Seconds from which a turn of the loop counts as too long: people notice it, and a second of it delays the start
  /// of thousands of short jobs.
  static let longTurn = 0.5

  /// One sentence for each thing; empty when all is well.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
  ///   let advice = StatusAdvice.lines(status)
  ///   print(advice.isEmpty ? "all is well" : advice.joined(separator: "\n"))
  /// }
  /// ```
  ///
  /// - Parameter reader: for whom commands are written.
  public static func lines(_ status: PoolStatus, for reader: AdviceReader = .plain) -> [String] {
    all(status).map { $0.text(for: reader) }
  }

  /// All advice, in the order in which it is shown: first what keeps the pool from opening, last what makes it slow.
  private static func all(_ status: PoolStatus) -> [Advice] {
    opening(status) + plugins(status) + pauses(status) + survivors(status) + jobs(status) + stuck(status)
      + workers(status) + starved(status) + store(status) + loop(status)
  }

  /// A thread that has not come back from a system call, and a turn of the loop that took too long.
  private static func loop(_ status: PoolStatus) -> [Advice] {
    var lines: [Advice] = (status.hangs ?? []).map { hang in
      "\(hang.subject) has not answered for \(StatusText.duration(hang.seconds)); the pool goes on without it: see "
        + "that its disk or server answers"
    }
    if let turn = status.longestTurn, turn.seconds >= longTurn {
      lines.append(
        "the pool did nothing else for \(StatusText.shortTime(turn.seconds)), \(StatusText.duration(turn.age)) ago, "
          + "because of one thing (\(turn.handler)): the machine has too much to do, or it is a fault of the pool; "
          + "report it if it comes back")
    }
    return lines
  }

  private static func opening(_ status: PoolStatus) -> [Advice] {
    guard status.phase == "opening" else { return [] }
    let remedy =
      StorePlace(status.store).isServer
      ? "see that the database's server runs and can be reached" : "let the process that has it locked end"
    return ["the pool waits for its store: \(remedy); to give up: \(.workerpool("stop"))"]
  }

  /// Plugins that cannot be used. One that does not answer yet is asked again by the pool; any other needs a person.
  private static func plugins(_ status: PoolStatus) -> [Advice] {
    status.plugins.compactMap { plugin in
      plugin.failure.map {
        plugin.isAsked == true
          ? "plugin \(plugin.name) is not in use yet: \($0). The pool asks until it answers; at once: \(reload)"
          : "plugin \(plugin.name) is not in use: \($0). When that is mended: \(reload)"
      }
    }
  }

  private static let reload = AdvisedCommand.workerpool("reload")

  private static func pauses(_ status: PoolStatus) -> [Advice] {
    var lines: [Advice] = []
    if status.isPaused { lines.append("the whole pool is paused; to go on: \(.resumeAll)") }
    for queue in status.pausedQueues { lines.append("queue \(queue) is paused; to go on: \(.resume(queue: queue))") }
    for kind in status.pausedKinds { lines.append("kind \(kind) is paused; to go on: \(.resume(kind: kind))") }
    return lines
  }

  /// Processes that a killed pool has left. One that holds a job finishes it; one that cannot name its job keeps all
  /// others waiting, since it might be any of them.
  private static func survivors(_ status: PoolStatus) -> [Advice] {
    (status.survivors ?? []).map { survivor in
      if survivor.jobs.isEmpty {
        return
          "process \(survivor.pid), which a pool that was killed has left, may still run a job, and none begins before "
          + "it has ended; to end it: kill \(survivor.pid)"
      }
      let names = survivor.jobs.map { ObjectURI($0)?.name ?? $0 }.joined(separator: " ")
      return
        "process \(survivor.pid), a worker of a pool that was killed, still finishes \(names), which no other worker "
        + "gets meanwhile; to have it given back: kill \(survivor.pid)"
    }
  }

  /// Jobs of kinds that no plugin runs, dead jobs, and job files that could not be read.
  private static func jobs(_ status: PoolStatus) -> [Advice] {
    var lines: [Advice] = []
    let runnableKinds = Set(status.plugins.filter { $0.failure == nil }.flatMap(\.kinds))
    let unknown = Dictionary(grouping: (status.backlog ?? []).filter { !runnableKinds.contains($0.kind) }, by: \.kind)
    let asked = status.plugins.filter { $0.isAsked == true }.map(\.name)
    for (kind, entries) in unknown.sorted(by: { $0.key < $1.key }) {
      let count = entries.reduce(0) { $0 + $1.count }
      let wait = "\(Plural.text(count, "job")) of kind \(kind) \(count == 1 ? "waits" : "wait")"
      lines.append(
        asked.isEmpty
          ? "\(wait), and no plugin runs that kind: put its worker-NAME where the pool looks (--plugins), then "
            + "\(reload); or cancel \(count == 1 ? "it" : "them")"
          : "\(wait), and no plugin that has answered runs that kind; not known yet: the kinds of "
            + "\(asked.joined(separator: ", "))")
    }
    if let dead = status.jobs?["dead"], dead > 0 {
      lines.append(
        "\(Plural.text(dead, "job")) \(dead == 1 ? "is" : "are") dead; "
          + "why: \(.workerpool("jobs", "--state", "dead")); to run one again: \(.retry("JOB"))")
    }
    if let files = status.rejectedFiles, files > 0 {
      lines.append(
        "\(Plural.text(files, "bad file")) \(files == 1 ? "lies" : "lie") in rejected/, with a .error file that says "
          + "why"
      )
    }
    return lines
  }

  private static func workers(_ status: PoolStatus) -> [Advice] { stopped(status) + busy(status) }

  /// Workers that a signal or a debugger has stopped. The pool ends them when they have been silent for long.
  private static func stopped(_ status: PoolStatus) -> [Advice] {
    let holders = Set((status.lockHolders ?? []).map(\.pid))
    return status.workers.filter { $0.isStopped == true }.compactMap { worker in
      worker.pid.map { pid in
        let harm = holders.contains(pid) ? " while it has the store locked, and all jobs wait for that" : ""
        return
          "worker \(worker.id), process \(pid), is stopped by a signal or a debugger\(harm): let it go on (kill -CONT "
          + "\(pid)), or end it (kill -KILL \(pid))"
      }
    }
  }

  /// Workers that have run one job for ten minutes without a report of progress. A job that reports progress may take
  /// any time.
  private static func busy(_ status: PoolStatus) -> [Advice] {
    status.workers.compactMap { worker in
      guard worker.isStopped != true,
        let busy = worker.busy, busy > longJob, worker.progressTotal == nil, let job = worker.running.first
      else {
        return nil
      }
      let name = ObjectURI(job)?.name ?? job
      return "worker \(worker.id) has been on \(name) for \(StatusText.duration(busy)) and does not say how far it is: "
        + "\(.workerpool("workers", "show", worker.shownID)); to end it: \(.cancel(name))"
    }
  }

  /// Seconds for which a job waits and others run before the latter count as what keeps it waiting.
  static let longWait = 30.0

  /// Kinds without a worker while long jobs of others have all workers. Only when every worker is busy for long: a pool
  /// that gets through its jobs needs no advice.
  private static func starved(_ status: PoolStatus) -> [Advice] {
    let busy = status.workers.filter { $0.busy ?? 0 > longWait && !$0.running.isEmpty }
    guard !busy.isEmpty, busy.count == status.workers.count, busy.count >= status.workerCount else { return [] }
    let holders = Set(busy.map(\.plugin))
    return (status.kinds ?? []).compactMap { kind in
      guard kind.couldBegin ?? 0 > 0, let waiting = kind.oldestWaiting, waiting > longWait else { return nil }
      let plugin = status.plugins.first { $0.failure == nil && $0.kinds.contains(kind.kind) }
      guard let plugin, !holders.contains(plugin.name) else { return nil }
      return "a job of kind \(kind.kind) has been waiting for \(StatusText.duration(waiting)), because long jobs of "
        + "\(holders.sorted().joined(separator: ", ")) have all workers; to keep a worker for it: "
        + "\(.workerpool("scale", "\(plugin.name)=1")), and from the next start on: "
        + "\(.workerpool("run", "--workers", "\(plugin.name)=1"))"
    }
  }

  /// What keeps the store from being written: a lock of another process, a full disk, a server that fails, a long log.
  private static func store(_ status: PoolStatus) -> [Advice] {
    var lines = [status.storeFailure].compactMap { $0.map { Advice($0) } }
    let workers = Set(status.workers.compactMap(\.pid))
    for holder in status.lockHolders ?? [] where !workers.contains(holder.pid) {
      lines.append(
        "process \(holder.pid) (\(holder.command)) has the store locked, and jobs wait for that: let it end its "
          + "transaction, or end it")
    }
    let waits = Dictionary(grouping: status.workers) { $0.waitsForStore ?? "" }
    for disk in status.fullDisks ?? [] where disk.path != status.store || waits["full"] == nil {
      let freeSpace = disk.freeBytes.map { " (\(StatusText.size($0)) left)" } ?? ""
      lines.append(
        "the disk of \(disk.path) is full\(freeSpace): job files cannot be taken, and jobs cannot end; they go on when "
          + "there is room: \(makeRoom(for: disk.path))")
    }
    if let full = waits["full"] {
      lines.append(
        "the jobs of \(Plural.text(full.count, "worker")) wait because the disk of the store is full; they go on when "
          + "there is room: \(makeRoom(for: status.store))")
    }
    if let failing = waits["failing"]?.first {
      lines.append(
        "jobs wait because the store cannot be read or written; the reason: "
          + "\(.workerpool("workers", "show", failing.shownID))")
    }
    return lines + silence(status) + log(status)
  }

  /// A store that does not answer: what is missing in the status for that, and what to do.
  private static func silence(_ status: PoolStatus) -> [Advice] {
    guard status.phase == "running", status.jobs == nil || status.storeAge != nil else { return [] }
    let numbers =
      status.storeAge.map { "the numbers of jobs are those of \(StatusText.duration($0)) ago" }
      ?? "the numbers of jobs are missing here"
    guard StorePlace(status.store).isServer else { return ["the store did not answer in time: \(numbers)"] }
    return [
      "the store did not answer in time: \(numbers), and other hosts could not be asked; see that the database's "
        + "server runs and answers"
    ]
  }

  private static func makeRoom(for path: String) -> String {
    StorePlace(path).isServer
      ? "make some at the database's server (its data directory, or the disk of its tablespace)"
      : "make some beside \(path)"
  }

  /// A long write-ahead log that no reader holds gets short by itself.
  private static func log(_ status: PoolStatus) -> [Advice] {
    guard let bytes = status.walBytes, bytes > longLog else { return [] }
    let length = "the write-ahead log has \(bytes >> 20) MiB"
    if let reader = status.walReaders?.first {
      return [
        "\(length), because process \(reader.pid) (\(reader.command)) has been reading an older state for "
          + "\(StatusText.duration(reader.age)): let it end its transaction, or end it"
      ]
    }
    guard status.walIsHeldByOthers == true else { return [] }
    return [
      "\(length), because programs outside the pool write to the store, or read it, without a pause: let them pause, "
        + "or write in the pool's turn (NSPersistentStoreWriteTurnOption)"
    ]
  }
}
