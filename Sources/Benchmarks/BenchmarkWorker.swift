import Foundation
import WorkerKit

/// The plugin of the pool's measures: this same executable under the name `worker-bench`.
struct BenchmarkWorker: WorkerPlugin {
  static let workers: [any Worker.Type] = [NoOperation.self, LongFetch.self]

  /// Whether the process was started as the plugin.
  static var isWanted: Bool {
    URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent.hasPrefix("worker-")
  }
}

/// Does nothing; with parameters it writes the time of its start into the pipe that the environment names.
struct NoOperation: Worker {
  static let kind = "no-operation"
  static let pipeVariable = "BENCHMARK_PIPE"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    if job.parametersText != nil { Self.tellTime() }
  }

  static func tellTime() {
    var now = ContinuousClock.now.secondsSinceBoot
    let path = ProcessInfo.processInfo.environment[pipeVariable] ?? ""
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    _ = write(descriptor, &now, MemoryLayout<Double>.size)
    close(descriptor)
  }
}

/// One fetch that takes ten seconds and more, because its condition is dear. Tells the time when it starts and when it has ended.
struct LongFetch: Worker {
  static let kind = "long-fetch"
  static let duration = 12.0
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Thing")
    let condition = NSPredicate(format: "text MATCHES %@", "(x+x+)+[a-f]{3}y?")
    request.predicate = condition
    // The first look fills the caches, and the second is measured.
    _ = try context.count(for: request)
    let start = ContinuousClock.now
    _ = try context.count(for: request)
    let once = max(0.001, start.duration(to: .now) / .seconds(1))
    request.predicate = NSCompoundPredicate(
      orPredicateWithSubpredicates: Array(repeating: condition, count: max(1, Int((Self.duration / once).rounded(.up))))
    )
    NoOperation.tellTime()
    _ = try context.fetch(request)
    NoOperation.tellTime()
  }
}

extension ContinuousClock.Instant {
  /// The same for all processes of the machine.
  var secondsSinceBoot: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
