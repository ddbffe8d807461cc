import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Any number of timers on one timerfd, which is armed for the earliest.
///
/// A timer with a leeway waits for another one to wake the process, and wakes it by itself only at the end of its
/// leeway:
///
/// ```text
/// every 10 s     ●         ●         ●         ●        scans of the queue directory
/// leeway 12 s           ├──────────────┤                the end of a minute: it runs with the second scan
/// ```
final class TimerQueue {
  /// A timer that has been started. Forgetting it does not stop it.
  struct Token: Equatable {
    fileprivate let number: UInt64
  }

  private struct Entry {
    /// From when on it may run, and when it must. In nanoseconds of the monotonic clock.
    let earliest: Int64
    let deadline: Int64
    let token: Token
    /// The file that starts it.
    let place: StaticString
    let action: () -> Void
  }

  private let file: Descriptor
  var descriptor: Int32 { file.number }
  /// The earliest deadline is last, where it is removed at no cost.
  private var entries: [Entry] = []
  /// Those with a leeway, in no order: an idle pool has a few.
  private var lenient: [Entry] = []
  private var nextNumber: UInt64 = 0
  /// The time that the descriptor is set to; 0 for none.
  private var armed: Int64 = 0
  private let meter: TurnMeter

  init(_ meter: TurnMeter) throws(SystemCallError) {
    self.meter = meter
    file = try Descriptor(csystem_timerfd(), "timerfd_create")
  }

  /// Calls `action` once, `seconds` from now.
  ///
  /// - Parameter leeway: seconds by which it may be called later, together with another timer. For what can wait: each
  ///   time that an idle process wakes up costs about 0.3 ms of processor time.
  @discardableResult
  func after(
    _ seconds: Double, leeway: Double = 0, from place: StaticString = #fileID, _ action: @escaping () -> Void
  ) -> Token {
    nextNumber += 1
    let token = Token(number: nextNumber)
    let earliest = csystem_monotonic_nanoseconds() + Self.nanoseconds(seconds)
    let deadline = earliest + Self.nanoseconds(leeway)
    let entry = Entry(earliest: earliest, deadline: deadline, token: token, place: place, action: action)
    if leeway > 0 {
      lenient.append(entry)
    } else {
      entries.insert(entry, at: entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex)
    }
    arm()
    return token
  }

  private static func nanoseconds(_ seconds: Double) -> Int64 { Int64(min(max(seconds, 0), 1e9) * 1e9) }

  /// Stops a timer that has not fired; `nil` and others are ignored.
  func cancel(_ token: Token?) {
    guard let token else { return }
    if let index = entries.firstIndex(where: { $0.token == token }) {
      entries.remove(at: index)
    } else if let index = lenient.firstIndex(where: { $0.token == token }) {
      lenient.remove(at: index)
    } else {
      return
    }
    arm()
  }

  /// Runs what is due. The event loop calls it when the descriptor is readable.
  func fire() {
    var expirations: UInt64 = 0
    _ = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
    armed = 0
    let now = csystem_monotonic_nanoseconds()
    while let last = entries.last, last.deadline <= now {
      entries.removeLast()
      run(last)
    }
    while let index = lenient.firstIndex(where: { $0.earliest <= now }) { run(lenient.remove(at: index)) }
    arm()
  }

  private func run(_ entry: Entry) {
    entry.action()
    meter.ran(entry.place)
  }

  private func arm() {
    let next = (lenient.map(\.deadline) + [entries.last?.deadline].compactMap(\.self)).min() ?? 0
    guard next != armed else { return }
    armed = next
    _ = csystem_timerfd_set(descriptor, next)
  }
}
