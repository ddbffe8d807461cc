import CoreData
import Foundation
import Jobs
import TestFiles

@testable import WorkerPoolWeb

/// The file of a pool's store, which one test has for itself. It goes with the last reference.
final class JobsFile {
  private let place = temporaryURL("jobs")
  /// The jobs as the pages read them.
  let reader: JobReader

  /// - Parameter fill: puts jobs into the store; what it leaves is saved.
  init(_ fill: (JobStore, NSManagedObjectContext) throws -> Void) throws {
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let file = place.appendingPathComponent("app.sqlite")
    let note = NSEntityDescription()
    note.name = "Note"
    let model = NSManagedObjectModel()
    model.entities = [note]
    do {
      let store = try JobStore(url: file, model: model)
      let context = store.makeContext(name: "test")
      try context.performAndWait {
        try fill(store, context)
        try context.save()
      }
      reader = try JobReader(path: file.path)
    } catch {
      // Nobody can use the directory, and the error says more than a failed removal.
      try? FileManager.default.removeItem(at: place)
      throw error
    }
  }

  deinit {
    // A test has no use for the error.
    try? FileManager.default.removeItem(at: place)
  }
}
