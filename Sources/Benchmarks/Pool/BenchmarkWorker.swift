import BenchmarkRows
import Foundation
import WorkerKit

/// The plugin of the pool's benchmarks: this executable under the name `worker-bench`.
struct BenchmarkWorker: WorkerPlugin {
  static let workers: [any Worker.Type] = [
    NoOperation.self, ChangingPerson.self, InsertingPeople.self, ReadingTeam.self,
  ]

  /// Whether this process was started as the plugin.
  static var isWanted: Bool {
    URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent.hasPrefix("worker-")
  }
}

/// A kind of the benchmarks: it opts in to sharing transactions, as a plugin of many short jobs does.
protocol BenchmarkKind: Worker {}

extension BenchmarkKind {
  static var sharesTransactions: Bool { true }
}

/// Does nothing. With empty parameters it writes the time of its start into the pipe that the environment names.
struct NoOperation: BenchmarkKind {
  static let kind = "no-operation"
  static let pipeVariable = "BENCHMARK_PIPE"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    if job.parametersText == "{}" { Self.tellTime() }
  }

  static func tellTime() {
    var now = MachineClock.now
    let path = ProcessInfo.processInfo.environment[pipeVariable] ?? ""
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    _ = write(descriptor, &now, MemoryLayout<Double>.size)
    close(descriptor)
  }
}

/// The pipe into which jobs of ``NoOperation`` write the times of their starts.
final class StartPipe {
  let path: String
  private let descriptor: Int32

  /// Makes the pipe in a directory.
  init(in directory: String) {
    path = directory + "/pipe"
    mkfifo(path, 0o600)
    descriptor = open(path, O_RDWR | O_CLOEXEC)
  }

  deinit { close(descriptor) }

  /// The time at which the next job started, in seconds since boot.
  func next() -> Double {
    var time = 0.0
    _ = read(descriptor, &time, MemoryLayout<Double>.size)
    return time
  }

  /// Whether ``next()`` has an answer within this time.
  func wait(milliseconds: Int32) -> Bool {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&ready, 1, milliseconds) == 1
  }
}

/// Changes one attribute of each of its objects.
struct ChangingPerson: BenchmarkKind {
  static let kind = "change"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    for case let person as Person in try job.objects() { person.age += 1 }
  }
}

/// Inserts ten objects.
struct InsertingPeople: BenchmarkKind {
  static let kind = "insert"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    for index in 0..<10 { Person(context: context).take(PersonValues(index)) }
  }
}

/// Reads every property of the people of a team.
struct ReadingTeam: BenchmarkKind {
  static let kind = "read"
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    var sum = 0
    for team in try job.objects() {
      let request = NSFetchRequest<Person>(entityName: "Person")
      request.predicate = NSPredicate(format: "team == %@", team)
      for person in try context.fetch(request) { sum &+= person.readAll() }
    }
    consume(sum)
  }
}

/// A clock that all processes of the machine share.
enum MachineClock {
  /// Seconds since boot.
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
