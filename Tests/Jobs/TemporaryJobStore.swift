import CoreData
import Foundation
import Jobs
import TestFiles

/// A place for a store of jobs beside an app's, which one test has for itself.
///
/// A file goes with the last reference; schemas of a server go with the server, when all tests have ended.
final class JobStorePlace: Sendable {
  let url: URL
  private let directory = temporaryURL("jobs")

  init(_ kind: JobStoreKind) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    url = kind.place(directory.appendingPathComponent("app.sqlite"))
  }

  deinit { try? FileManager.default.removeItem(at: directory) }
}

/// A new store of jobs, as one process has it open.
struct TemporaryJobStore: Sendable {
  let store: JobStore
  private let place: JobStorePlace

  init(_ kind: JobStoreKind) throws { try self.init(at: JobStorePlace(kind)) }

  private init(at place: JobStorePlace, clock: (@Sendable () -> Date)? = nil) throws {
    self.place = place
    store = try JobStore(url: place.url, model: NoteModel.make(), clock: clock)
  }

  /// The same store, opened a second time like by another process.
  ///
  /// - Parameter clock: what the other process takes for the time; nil: the true time.
  func openedAgain(clock: (@Sendable () -> Date)? = nil) throws -> TemporaryJobStore {
    try TemporaryJobStore(at: place, clock: clock)
  }

  /// Runs the body on the queue of a new context.
  func perform<T>(_ body: (JobStore, NSManagedObjectContext) throws -> T) throws -> T {
    let context = store.makeContext(name: "test")
    return try context.performAndWait { try body(store, context) }
  }
}

/// Runs the body on the queue of a context of a new store, and removes all of it.
///
/// - Parameter kind: a file for tests that are about the job alone, and not about what the store makes of it.
func withStore(_ kind: JobStoreKind = .file, _ body: (JobStore, NSManagedObjectContext) throws -> Void) throws {
  try TemporaryJobStore(kind).perform(body)
}

/// A request with some of its properties set.
func request(_ kind: String = "a", _ change: (inout JobRequest) -> Void = { _ in }) -> JobRequest {
  var request = JobRequest(kind: kind)
  change(&request)
  return request
}

extension Date {
  /// The beginning of this second, which comes back from any store as it was: a server keeps microseconds.
  static var thisSecond: Date {
    Date(timeIntervalSinceReferenceDate: Date().timeIntervalSinceReferenceDate.rounded(.down))
  }
}
