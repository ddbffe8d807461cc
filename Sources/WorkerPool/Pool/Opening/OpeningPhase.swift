import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// The time from the start of a pool until its store is open. Another process may have the store locked: the pool then
/// says so, obeys signals and requests, and gives up after a while.
///
/// A separate thread opens the store, because SQLite blocks; everything else happens on a loop.
final class OpeningPhase {
  /// The seconds after which the pool says what it waits for and begins to answer. It repeats this after three times as
  /// long.
  static let firstNotice = 1.0
  /// Seconds between two tries.
  static let retryDelay = 0.5
  /// The same where a person has to mend something first. Each try is a failed login for the server.
  static let refusalDelay = 3.0
  /// Seconds between two looks for a lock where the pool does not wait: a process that both looks find has the store
  /// for longer than a moment.
  static let lookDelay = 0.25

  private let configuration: PoolConfiguration
  private let open: @Sendable () throws -> any JobSource
  private let loop: EventLoop
  private let signals: SignalSource?
  /// Whether the server has let this process in before.
  private let isAgain: Bool
  private let manager: ServiceManager?
  private let log: Log
  private let problems = RecentProblems()
  private let startedAt = Clock.now
  private var statusServer: StatusServer?
  private var lastReason: String?
  private var outcome: Result<(any JobSource)?, any Error> = .success(nil)
  /// How many worker processes are wanted: signals and requests may change it.
  private(set) var workers: Int

  /// - Parameters:
  ///   - isAgain: whether this process has had the store open before: then it also waits for a server that does not let
  ///     it in any more, as after a change of the password.
  ///   - open: opens the store; may be called again after it has thrown. It is called on a thread of its own.
  init(
    _ configuration: PoolConfiguration, signals: SignalSource?, manager: ServiceManager?, isAgain: Bool = false,
    open: @escaping @Sendable () throws -> any JobSource
  ) throws {
    self.configuration = configuration
    self.isAgain = isAgain
    self.signals = signals
    self.manager = manager
    self.open = open
    workers = configuration.workers
    log = .records { [problems, log = configuration.log] record in
      problems.note(record)
      log(record)
    }
    loop = try EventLoop()
  }

  /// Returns the open store's source, or nil if the pool was told to end. Throws ``Pool/StartError`` or `FileError`.
  func run() throws -> (any JobSource)? {
    loop.blocking.whenShort = { [weak self] error in
      self?.lastReason = error.explained
      self?.log(.trouble, "the store cannot be opened yet: \(error.explained); it is tried again")
    }
    if let signals {
      try loop.watch(signals.descriptor, for: .readable) { [weak self] in
        for signal in signals.collect() { self?.handle(signal: signal) }
      }
    }
    loop.atEndOfTurn { [weak self] in self?.statusServer?.flush() }
    if hasOneTry {
      lookForLock(seenBefore: [])
    } else if let seconds = configuration.storeTimeout {
      loop.timers.after(seconds) { [weak self] in self?.giveUp(seconds) }
    }
    manager?.watch(loop)
    sayLater(Self.firstNotice)
    tryToOpen()
    loop.run()
    // Closes the connections of clients that asked meanwhile: from here on nothing answers them.
    statusServer = nil
    return try outcome.get()
  }

  private func tryToOpen() {
    loop.blocking.run(on: "the store \(configuration.store)") { [open] in
      Result { try open() }
    } then: { [weak self] in
      self?.handle($0)
    }
  }

  private func handle(_ result: Result<any JobSource, any Error>) {
    switch result {
    case .success(let source): end(.success(source))
    case .failure(let error) where Self.mayPass(error): tryLater(error, Self.retryDelay)
    case .failure(let error) where isAgain && Self.isRefusal(error): tryLater(error, Self.refusalDelay)
    case .failure(let error as FileError): end(.failure(Self.advised(error)))
    case .failure(let error as Pool.StartError): end(.failure(error))
    case .failure(let error):
      let reason = ErrorText.text(error) + (isForFullDisk(error) ? Self.adviceOnSpace : "")
      end(.failure(Pool.StartError.store(path: configuration.store, reason: reason)))
    }
  }

  private static let adviceOnSpace = "; its disk is full: free space there, and start the pool again"

  /// The error with what to do about a full disk.
  private static func advised(_ error: FileError) -> FileError {
    guard error.errno == ENOSPC || error.errno == EDQUOT else { return error }
    return FileError(
      path: error.path, action: error.action, errno: error.errno,
      reason: (error.reason ?? "cannot \(error.action): \(ErrorNumber.text(error.errno))") + adviceOnSpace)
  }

  /// Whether the store's disk has no room for what the start writes. SQLite reports that as an I/O error in some
  /// places.
  private func isForFullDisk(_ error: any Error) -> Bool {
    guard let wait = StoreWait(error), wait == .full || wait == .failing, !configuration.place.isServer else {
      return false
    }
    var disk = statvfs()
    return wait == .full || statvfs(configuration.store, &disk) == 0 && disk.f_bavail == 0
  }

  private func tryLater(_ error: any Error, _ seconds: Double) {
    lastReason = ErrorText.text(error)
    if hasOneTry { return giveUp(0) }
    loop.timers.after(seconds) { [weak self] in self?.tryToOpen() }
  }

  private func end(_ outcome: Result<(any JobSource)?, any Error>) {
    self.outcome = outcome
    loop.stop()
  }

  /// Whether what was in the way may be gone later by itself: another process's lock, another pool that
  /// opened the store at the same moment, a server that cannot be reached, starts, or has no room for a connection.
  private static func mayPass(_ error: any Error) -> Bool {
    if JobStore.isConflict(error as NSError) { return true }
    // A file that cannot be read stays so; SQLite waits for recovery by itself.
    guard let wait = StoreWait(error) else { return false }
    return wait == .locked || (StoreWait.serverState(error) != nil && !isRefusal(error))
  }

  /// Whether a server does not let this user in, has no such database or no store in it, or denies a right.
  private static func isRefusal(_ error: any Error) -> Bool {
    if (error as NSError).isForMissingStore { return true }
    guard let state = StoreWait.serverState(error) else { return false }
    return state.hasPrefix("28") || ["3D000", "42501", "55000"].contains(state)
  }

  // MARK: Without waiting

  /// Whether the pool opens the store at once or not at all. The one try may take its time, as after a crash, when
  /// SQLite recovers a long log.
  private var hasOneTry: Bool { configuration.storeTimeout == 0 }

  /// SQLite waits for a lock inside of the try, so the lock itself is looked for.
  private func lookForLock(seenBefore: Set<Int32>) {
    loop.timers.after(Self.lookDelay) { [weak self] in
      guard let self else { return }
      let holders = StoreLocks.holders(store: configuration.store)
      if holders.isDisjoint(with: seenBefore) { lookForLock(seenBefore: holders) } else { giveUp(0) }
    }
  }

  // MARK: Meanwhile

  private func sayLater(_ seconds: Double) {
    loop.timers.after(seconds - (Clock.now - startedAt)) { [weak self] in
      guard let self else { return }
      log(
        .storeWaiting, "the store \(configuration.store) is not open after \(Int(seconds)) s: \(reason)",
        .path(configuration.store))
      if statusServer == nil { listen() }
      sayLater(3 * seconds)
    }
  }

  /// Which process has the lock, if that can be seen.
  private var reason: String {
    StoreLocks.named(store: configuration.store) ?? lastReason
      ?? "it waits for a lock, or is being recovered or upgraded"
  }

  private func giveUp(_ seconds: Double) {
    end(.failure(Pool.StartError.storeIsLocked(path: configuration.store, seconds: seconds, reason: reason)))
  }

  private func listen() {
    do {
      let path = QueueLayout(root: configuration.queue).statusSocket
      statusServer = try StatusServer(
        path: path, inherited: configuration.handover?.statusSocket, loop: loop, log: log
      ) { [weak self] in self?.answer($0, $1) }
    } catch {
      log(.trouble, "the status socket cannot be opened yet: \(error)")
    }
  }

  private func answer(_ request: StatusRequest, _ client: StatusServer.Client) {
    switch request.command {
    case .status: client.reply(StatusReply(status: status))
    case .stop:
      client.reply(StatusReply())
      stop()
    default: client.reply(StatusReply(ok: false, error: "the store is not open yet: \(reason)"))
    }
  }

  private var status: PoolStatus {
    PoolStatus(
      pid: getpid(), store: configuration.place.absolute.text,
      model: URL(fileURLWithPath: configuration.model).path, phase: "opening", age: Clock.now - startedAt,
      isPaused: false, pausedQueues: [], pausedKinds: [], workerCount: workers, workers: [], plugins: [], waiting: [:],
      counters: .init(), restarts: 0, rates: [], problems: problems.all)
  }

  private func handle(signal: Int32) {
    switch signal {
    case SIGTTIN: workers += 1
    case SIGTTOU: workers = max(0, workers - 1)
    // The pool looks for plugins when the store is open; there are no processes yet.
    case SIGHUP, SIGCHLD: break
    case _ where SignalName.meaningless.contains(signal): break
    default: stop()
    }
  }

  private func stop() {
    log(.poolStopping, "stopping: the store is not open yet")
    manager?.stopping(within: ServiceManager.timeToEnd)
    end(.success(nil))
  }
}
