import Documents
import WorkerKit

/// Indexes text files: the lines and words of each document, and how often each word occurs in it.
///
/// The job names Document objects, whose `path` is read, or a file as the parameter `file`, whose document is found or
/// inserted.
@main struct Index: Worker {
  static let kind = "index"
  static let summary = "Indexes the words and lines of text files into Document, Term and Occurrence"

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    try check(context)
    let file = try file(of: job)
    let index = DocumentIndex(context: context)
    do {
      if let file { try index.index(path: file) }
      let documents = try job.objects()
      for (number, object) in documents.enumerated() {
        guard let document = object as? Document, let path = document.path else { continue }
        try index.index(path: path, document: document)
        job.report(done: Int64(number + 1), of: Int64(documents.count))
        try job.checkStop()
      }
    } catch let error as TextFileError {
      throw PermanentFailure("\(error)")
    }
  }

  /// The file that the job's parameters name; nil if they name none.
  private func file(of job: Job) throws -> String? {
    do {
      var fields = try JSONFields(try job.parameters, named: "the parameters")
      let file = try fields.path("file")
      try fields.finish()
      return file
    } catch {
      throw PermanentFailure("\(error)")
    }
  }

  /// The store's model must have the entities that this worker writes, and leave their classes to it.
  private func check(_ context: NSManagedObjectContext) throws {
    let entities = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName ?? [:]
    for (name, classNames) in DocumentsModel.classNames {
      guard let entity = entities[name] else {
        throw PermanentFailure("the model has no entity \(name), which this worker writes")
      }
      let className = entity.managedObjectClassName ?? ""
      guard classNames.contains(className) else {
        throw PermanentFailure("the entity \(name) has the class \(className); this worker needs its own, \(name)")
      }
    }
  }
}
