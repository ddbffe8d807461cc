import WorkerKit

/// A test's worker: adds one to an attribute of each object that the job names, so that the object itself counts how
/// often its job took effect.
@main struct Increment: Worker {
  static let kind = "increment"
  static let backoff: Double? = 0.5
  static let sharesTransactions = true

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let attribute = try job.parameters["attribute"]?.stringValue ?? "rating"
    for object in try job.objects() {
      let value = (object.value(forKey: attribute) as? NSNumber)?.intValue ?? 0
      object.setValue(NSNumber(value: value + 1), forKey: attribute)
    }
  }
}
