import CCounters
import Foundation
import LinuxSystem

/// The machine's resources that a piece of work used.
struct Use: Codable, Equatable, Sendable {
  var seconds: Double
  /// Processor time outside the kernel, of all threads of this process, in seconds.
  var processorSeconds: Double
  /// Cycles and instructions outside the kernel; nil if the kernel or the machine does not count them.
  var cycles: UInt64?
  var instructions: UInt64?
  /// Calls of malloc(3) and its relatives; nil if they are not counted.
  var allocations: UInt64?

  /// The resources that the body uses.
  static func of(_ body: () throws -> Void) rethrows -> Use {
    let before = Reading()
    try body()
    let after = Reading()
    return Use(
      seconds: after.time - before.time, processorSeconds: after.processorTime - before.processorTime,
      cycles: difference(after.cycles, before.cycles),
      instructions: difference(after.instructions, before.instructions),
      allocations: after.allocations == 0 ? nil : after.allocations - before.allocations)
  }

  private static func difference(_ after: UInt64?, _ before: UInt64?) -> UInt64? {
    guard let after, let before else { return nil }
    return after - before
  }

  /// Opens the processor's counters. They only count threads that start later, so call it before any starts.
  static func begin() { _ = (Counter.cycles, Counter.instructions) }

  /// The values of all counters at one moment.
  private struct Reading {
    let time = MachineClock.now
    let processorTime: Double
    let cycles = Counter.cycles?.value
    let instructions = Counter.instructions?.value
    let allocations = UInt64(ccounters_allocations())

    init() {
      var usage = rusage()
      getrusage(RUSAGE_SELF.rawValue, &usage)
      processorTime = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) * 1e-6
    }
  }
}

/// A counter of the processor.
private struct Counter: Sendable {
  static let cycles = Counter(ccounters_cycles)
  static let instructions = Counter(ccounters_instructions)

  private let descriptor: Descriptor

  /// Nil if the counter is missing: in most virtual machines, and if `perf_event_paranoid` forbids it.
  private init?(_ event: ccounters_event) {
    // A machine that refuses the counter has no figure of it.
    guard let descriptor = try? Descriptor(ccounters_open(event), "perf_event_open") else { return nil }
    self.descriptor = descriptor
  }

  var value: UInt64? {
    var value: UInt64 = 0
    let size = MemoryLayout<UInt64>.size
    return read(descriptor.number, &value, size) == size ? value : nil
  }
}
