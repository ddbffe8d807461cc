import Foundation
import WorkerKit

/// Adds, and wants to be called again later at its first attempt.
struct Snooze: TestKind {
  static let kind = "snooze"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    try Add().run(job, in: context)
    let mark = try job.parameters["mark"]?.stringValue ?? ""
    let descriptor = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    close(descriptor)
    throw JobSnoozed(for: 0.2)
  }
}

/// Fetches that would take longer than a test waits, and never asks whether it should stop.
struct LongFetch: TestKind {
  static let kind = "long-fetch"
  static let maxAttempts: Int? = 1
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    job.report(done: 1, of: 2)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    // Fits no item, and takes a while to find that out.
    request.predicate = NSPredicate(format: "name LIKE %@", "*a*a*b")
    while true { _ = try context.fetch(request) }
  }
}

/// Never stops, whatever it is asked.
struct Deaf: TestKind {
  static let kind = "deaf"
  static let maxAttempts: Int? = 1
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    try Add().run(job, in: context)
    job.report(done: 1, of: 2)
    while true { pause() }
  }
}

/// Submits a job for each of its objects, with the object's URI as its unique key for an hour.
struct SpawnUnique: TestKind {
  static let kind = "spawn-unique"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    for uri in job.objectURIs {
      var request = JobRequest(kind: "add", objects: [uri], uniqueKey: uri)
      request.options.uniqueFor = 3600
      try job.submit(request)
    }
  }
}

/// Inserts an item and names it as its result.
struct Named: TestKind {
  static let kind = "named"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
    item.setValue(7, forKey: "value")
    try job.setResults([item])
    job.output = "one item"
  }
}

/// Fails like ``Fail``, and is tried again within an hour.
struct FailPatiently: TestKind {
  static let kind = "fail-patiently"
  static let maxAttempts: Int? = 2
  static let backoff: Double? = 3600
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws { throw Fail.Refused() }
}

/// Reads all items, waits like ``Wait``, and reads them again as other workers have left them.
struct Follow: TestKind {
  static let kind = "follow"
  init() {}
  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let items = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Item"))
    func sum() -> Int { items.reduce(0) { $0 + ($1.value(forKey: "value") as? Int ?? 0) } }
    let before = sum()
    try Data().write(to: URL(fileURLWithPath: try job.parameters["seen"]?.stringValue ?? ""))
    try Wait().run(job, in: context)
    job.mergeChangesOfOthers()
    job.output = "\(before) \(sum())"
  }
}
