import CCounters
import Foundation
import LinuxSystem

/// What a piece of work took of the machine.
struct Use: Codable, Equatable, Sendable {
  var seconds: Double
  /// Processor time outside the kernel, of all threads of this process, in seconds.
  var processorSeconds: Double
  /// Cycles and instructions outside the kernel; nil where the kernel or the machine does not count them.
  var cycles: UInt64?
  var instructions: UInt64?
  /// Calls of malloc(3) and its relatives; nil where they are not counted.
  var allocations: UInt64?

  /// What the body takes.
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

  /// Opens the counters of the processor, which count threads that begin afterwards: called before there are any.
  static func begin() { _ = (Counter.cycles, Counter.instructions) }

  /// All counters at one moment.
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

  /// Nil where there is none: in most virtual machines, and where `perf_event_paranoid` forbids it.
  private init?(_ event: ccounters_event) {
    guard let descriptor = try? Descriptor(ccounters_open(event), "perf_event_open") else { return nil }
    self.descriptor = descriptor
  }

  var value: UInt64? {
    var value: UInt64 = 0
    let size = MemoryLayout<UInt64>.size
    return read(descriptor.number, &value, size) == size ? value : nil
  }
}
