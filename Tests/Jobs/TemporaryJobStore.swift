import CoreData
import Foundation
import Jobs
import TestFiles

/// Runs the body on the queue of a context of a new store, and removes all of it.
func withStore(_ body: (JobStore, NSManagedObjectContext) throws -> Void) throws {
  let place = temporaryURL("jobs")
  try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: place) }
  let store = try JobStore(url: place.appendingPathComponent("app.sqlite"), model: NoteModel.make())
  let context = store.makeContext(name: "test")
  try context.performAndWait { try body(store, context) }
}

/// A request with some of its properties set.
func request(_ kind: String = "a", _ change: (inout JobRequest) -> Void = { _ in }) -> JobRequest {
  var request = JobRequest(kind: kind)
  change(&request)
  return request
}
