import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Any number of timers on one timerfd, which is armed for the earliest.
final class TimerQueue {
  /// A timer that has been started. Forgetting it does not stop it.
  struct Token: Equatable {
    fileprivate let number: UInt64
  }

  private struct Entry {
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
  private var nextNumber: UInt64 = 0
  /// The time that the descriptor is set to; 0 for none.
  private var armed: Int64 = 0
  private let meter: TurnMeter

  init(_ meter: TurnMeter) throws(SystemCallError) {
    self.meter = meter
    file = try Descriptor(csystem_timerfd(), "timerfd_create")
  }

  /// Calls `action` once, `seconds` from now.
  @discardableResult
  func after(_ seconds: Double, from place: StaticString = #fileID, _ action: @escaping () -> Void) -> Token {
    nextNumber += 1
    let token = Token(number: nextNumber)
    let nanoseconds = Int64(min(max(seconds, 0), 1e9) * 1e9)
    let deadline = csystem_monotonic_nanoseconds() + nanoseconds
    let index = entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex
    entries.insert(Entry(deadline: deadline, token: token, place: place, action: action), at: index)
    arm()
    return token
  }

  /// Stops a timer that has not fired; `nil` and others are ignored.
  func cancel(_ token: Token?) {
    guard let token, let index = entries.firstIndex(where: { $0.token == token }) else { return }
    entries.remove(at: index)
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
      last.action()
      meter.ran(last.place)
    }
    arm()
  }

  private func arm() {
    let next = entries.last?.deadline ?? 0
    guard next != armed else { return }
    armed = next
    _ = csystem_timerfd_set(descriptor, next)
  }
}
