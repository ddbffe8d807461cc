import Foundation

/// The cost of an idle pool: one minute of `workerpool run` with four workers, in processes of their own.
enum IdlePool {
  static var measures: [Measure] { [Measure(name: "idle", run: run)] }
  private static let minute = 60.0

  private static func run(_ options: Options) throws -> [Figure] {
    let pool = try PoolProcess(workers: 4)
    defer { pool.end() }
    // After this time the work of starting is done.
    Thread.sleep(forTimeInterval: 3)
    let processes = [pool.pid] + pool.workers
    let before = processes.map(ProcessSample.init)
    Thread.sleep(forTimeInterval: minute)
    let after = processes.map(ProcessSample.init)
    let processor = zip(after, before).reduce(0) { $0 + $1.0.processorSeconds - $1.1.processorSeconds }
    let wakeUps = zip(after, before).map { $0.wakeUps(since: $1) }
    let memory = after.map(\.mebibytes)
    return [
      Figure("idle for a minute, 4 workers: processor time", .seconds, processor),
      Figure("idle for a minute: wake-ups of the supervisor", .number, Double(wakeUps[0])),
      Figure("idle for a minute: wake-ups of the four workers", .number, Double(wakeUps.dropFirst().reduce(0, +))),
      Figure("idle: memory of the supervisor (PSS)", .mebibytes, memory[0]),
      Figure("idle: memory of a worker (PSS)", .mebibytes, memory.dropFirst().reduce(0, +) / 4),
    ]
  }
}
