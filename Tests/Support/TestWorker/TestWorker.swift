import CSystem
import Foundation
import Synchronization
import WorkerKit

/// The plugin of the tests: each kind is one way for a job to go.
@main struct TestWorker: WorkerPlugin {
  static let workers: [any Worker.Type] = Counted.isWanted ? [Counted.self] : grouping

  /// Kinds whose short jobs share transactions.
  private static let grouping: [any Worker.Type] = [
    Nothing.self, Add.self, AddSlowly.self, Fail.self, FailForGood.self, Crash.self, CrashOnce.self, Wait.self,
    Chunks.self,
    Spawn.self, Late.self, Selfish.self, Misbehave.self, Snooze.self, LongFetch.self, Deaf.self, SpawnUnique.self,
    Named.self, FailPatiently.self, Append.self, AppendImpatiently.self, Trespass.self, Follow.self,
  ]

  static func main() {
    Fault.arm()
    serve()
  }
}

/// A kind of the tests: short jobs share transactions, and failed ones are tried again soon.
protocol TestKind: Worker {}

extension TestKind {
  static var sharesTransactions: Bool { true }
  static var backoff: Double? { 0.5 }
}

/// Does nothing, as quickly as it can.
struct Nothing: TestKind {
  static let kind = "nothing"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {}
}

/// Adds one to `value` of each of the job's objects: what ran twice shows.
struct Add: TestKind {
  static let kind = "add"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    for object in try job.objects() {
      object.setValue((object.value(forKey: "value") as? Int ?? 0) + 1, forKey: "value")
    }
  }
}

/// Like ``Add``, but never in one transaction with others, since it works for longer than such a transaction may take.
struct AddSlowly: TestKind {
  static let kind = "add-slowly"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let end = ContinuousClock.now + .milliseconds(2)
    while ContinuousClock.now < end {}
    try Add().run(job, in: context)
  }
}

/// Changes its objects and throws.
struct Fail: TestKind {
  static let kind = "fail"
  static let maxAttempts: Int? = 2
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    try Add().run(job, in: context)
    throw Refused()
  }

  struct Refused: Error, CustomStringConvertible {
    var description: String { "this job always fails" }
  }
}

struct FailForGood: TestKind {
  static let kind = "fail-for-good"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    throw PermanentFailure("nothing can help")
  }
}

/// Changes its objects and dies.
struct Crash: TestKind {
  static let kind = "crash"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    try Add().run(job, in: context)
    FileHandle.standardError.write(Data("this job always crashes\n".utf8))
    abort()
  }
}

/// Dies at the first attempt.
struct CrashOnce: TestKind {
  static let kind = "crash-once"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    if job.crashes == 0 { abort() }
    try Add().run(job, in: context)
  }
}

/// Waits until it is asked to stop, or until the file exists that its parameters name; with the merge policy that they
/// name.
struct Wait: TestKind {
  static let kind = "wait"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let path = try job.parameters["until"]?.stringValue ?? ""
    if let type = try job.parameters["mergePolicy"]?.intValue.flatMap({ NSMergePolicyType(rawValue: UInt($0)) }) {
      context.mergePolicy = NSMergePolicy(merge: type)
    }
    job.report(done: 1, of: 2)
    // Watched before it is looked for, so that it cannot come unnoticed.
    let watch = csystem_inotify()
    defer { close(watch) }
    let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard inotify_add_watch(watch, directory, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
      throw PermanentFailure("\(directory) cannot be watched")
    }
    while !FileManager.default.fileExists(atPath: path) {
      try job.checkStop()
      var ready = [watch, job.stopDescriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&ready, 2, -1)
      var events = [UInt8](repeating: 0, count: 4096)
      _ = read(watch, &events, events.count)
    }
    try Add().run(job, in: context)
  }
}

/// Adds to each of its objects in a chunk of its own, and dies in the middle at its first attempt.
struct Chunks: TestKind {
  static let kind = "chunks"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let objects = try job.objects()
    let done = Int(job.checkpoint?.first ?? 0)
    for (index, object) in objects.enumerated().dropFirst(done) {
      object.setValue((object.value(forKey: "value") as? Int ?? 0) + 1, forKey: "value")
      job.report(done: Int64(index + 1), of: Int64(objects.count))
      try job.save(checkpoint: Data([UInt8(index + 1)]))
      if job.crashes == 0, index == objects.count / 2 { abort() }
    }
  }
}

/// Submits an `add` job for each of its objects, in its own save.
struct Spawn: TestKind {
  static let kind = "spawn"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    for uri in job.objectURIs { try job.submit(JobRequest(kind: "add", objects: [uri])) }
    if job.crashes == 0, try job.parameters["crash"]?.boolValue == true { abort() }
  }
}

/// Takes longer than it may, and notices.
struct Late: TestKind {
  static let kind = "late"
  static let timeout: Double? = 0.05
  static let maxAttempts: Int? = 1
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    while true {
      try job.checkStop()
      var ready = pollfd(fd: job.stopDescriptor, events: Int16(POLLIN), revents: 0)
      poll(&ready, 1, -1)
    }
  }
}

/// Undoes what the jobs before it in its transaction did.
struct Selfish: TestKind {
  static let kind = "selfish"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    context.rollback()
    try Add().run(job, in: context)
  }
}
