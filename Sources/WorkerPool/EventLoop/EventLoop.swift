import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// One epoll, and a handler for each descriptor: everything that happens in the supervisor's process happens here.
///
/// All of it runs on the thread that calls `run`, so handlers share state without locks. A handler must not block.
/// Other threads reach the loop through a ``Mailbox`` only.
final class EventLoop {
  /// What a handler is called for.
  struct Interest: OptionSet {
    let rawValue: UInt32
    static let readable = Interest(rawValue: UInt32(CSYSTEM_READABLE))
    static let writable = Interest(rawValue: UInt32(CSYSTEM_WRITABLE))
  }

  typealias Handler = () -> Void

  /// A watched descriptor. As an object it outlives its entry while a batch of reports is handled. An earlier handler
  /// may close a descriptor whose number the kernel gives out again: a report for the old one then calls no handler.
  private final class Watch {
    let handler: Handler
    /// The file that registers it.
    let place: StaticString
    var interest: Interest
    var isActive = true

    init(interest: Interest, place: StaticString, handler: @escaping Handler) {
      self.interest = interest
      self.place = place
      self.handler = handler
    }
  }

  private let epoll: Descriptor
  private var watches: [Int32: Watch] = [:]
  private var reports = [csystem_readiness](repeating: csystem_readiness(), count: 64)
  private var endOfTurn: [(handler: Handler, place: StaticString)] = []
  private var nextTurn: [(handler: Handler, place: StaticString)] = []
  private var isStopped = false
  let timers: TimerQueue
  let meter = TurnMeter()
  /// Where handlers leave what may block.
  let blocking: BlockingWork

  init() throws(SystemCallError) {
    epoll = try Descriptor(csystem_epoll_create(), "epoll_create1")
    timers = try TimerQueue(meter)
    blocking = try BlockingWork(timers: timers)
    try watch(timers.descriptor, for: .readable) { [timers] in timers.fire() }
    try watch(blocking.descriptor, for: .readable) { [blocking] in blocking.deliver() }
  }

  /// Calls `handler` whenever the descriptor is ready, or its other end is gone. The descriptor stays the caller's.
  ///
  /// Throws when the kernel has no memory for one more, or the user's limit is reached (epoll_ctl(2): ENOMEM, ENOSPC);
  /// then the descriptor is not watched.
  ///
  /// - Parameter place: the file that a long turn is put down to.
  func watch(
    _ descriptor: Int32, for interest: Interest, from place: StaticString = #fileID, handler: @escaping Handler
  ) throws(SystemCallError) {
    precondition(watches[descriptor] == nil, "descriptor \(descriptor) is watched already")
    guard csystem_epoll_add(epoll.number, descriptor, interest.rawValue) == 0 else {
      precondition(errno != EBADF, "descriptor \(descriptor) was watched after it was closed")
      throw SystemCallError("epoll_ctl")
    }
    watches[descriptor] = Watch(interest: interest, place: place, handler: handler)
  }

  /// Calls `handler` once in the next turn, which does not wait for events: for a source that has more than its share
  /// of a turn.
  func inNextTurn(from place: StaticString = #fileID, _ handler: @escaping Handler) {
    nextTurn.append((handler, place))
  }

  /// Changes what the descriptor's handler is called for.
  func setInterest(_ interest: Interest, of descriptor: Int32) {
    guard let watch = watches[descriptor], watch.interest != interest else { return }
    watch.interest = interest
    _ = csystem_epoll_modify(epoll.number, descriptor, interest.rawValue)
  }

  /// Stops calling the descriptor's handler. Must be called before the descriptor is closed.
  func unwatch(_ descriptor: Int32) {
    guard let watch = watches.removeValue(forKey: descriptor) else { return }
    watch.isActive = false
    _ = csystem_epoll_remove(epoll.number, descriptor)
  }

  /// Calls `handler` after each batch of handlers, once: to write what they have gathered.
  func atEndOfTurn(from place: StaticString = #fileID, _ handler: @escaping Handler) {
    endOfTurn.append((handler, place))
  }

  /// Handles events until `stop` is called.
  func run() {
    isStopped = false
    while !isStopped { turn(milliseconds: -1) }
  }

  /// Lets `run` return after the current turn.
  func stop() { isStopped = true }

  /// Waits for events, no longer than `milliseconds` (-1: without a limit), and handles one batch of them.
  func turn(milliseconds: Int32) {
    let postponed = nextTurn
    nextTurn = []
    let wait = postponed.isEmpty ? milliseconds : 0
    let count = csystem_epoll_wait(epoll.number, &reports, Int32(reports.count), wait)
    meter.begin()
    if count > 0 {
      let batch = reports[..<Int(count)].compactMap { watches[$0.descriptor] }
      for watch in batch where watch.isActive {
        watch.handler()
        meter.ran(watch.place)
      }
    } else if count < 0 {
      precondition(errno == EINTR, "epoll_wait: \(String(cString: strerror(errno)))")
    }
    for (handler, place) in postponed + endOfTurn {
      handler()
      meter.ran(place)
    }
    meter.end()
  }
}
