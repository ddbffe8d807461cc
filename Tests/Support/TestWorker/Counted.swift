import Foundation
import WorkerKit

/// Leaves one trace of each attempt inside the store and one outside: an item with the job's number, and a line in a
/// file.
///
/// The line is written before the save, so an attempt that dies between the two leaves only the line.
struct Counted: TestKind {
  static let kind = "counted"
  // Jobs that are hit by chance must not be set aside.
  static let maxCrashes: Int? = 1_000_000
  static let sharesTransactions = false
  /// One kind that does not share transactions keeps all others of its plugin from it, so this one is a plugin of its
  /// own.
  static var isWanted: Bool { ProcessInfo.processInfo.environment["TEST_WORKER_COUNTS"] != nil }
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let parameters = try job.parameters
    guard let number = parameters["number"]?.intValue, let path = parameters["file"]?.stringValue else {
      throw PermanentFailure("a counted job needs \"number\" and \"file\"")
    }
    let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
    item.setValue(number, forKey: "value")
    let milliseconds = parameters["milliseconds"]?.intValue ?? 0
    if milliseconds > 0 { poll(nil, 0, Int32(milliseconds)) }
    try append("\(number)\n", to: path)
  }

  /// One write to a file opened for appending: lines of several processes do not mix (open(2), O_APPEND).
  private func append(_ line: String, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let bytes = Array(line.utf8)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else {
      throw PermanentFailure("\(path) cannot be written")
    }
  }
}
