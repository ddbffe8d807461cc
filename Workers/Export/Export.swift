import LinuxSystem
import WorkerKit

/// Exports the objects that a query finds to a file of JSON Lines or CSV, which appears when it is complete.
@main struct Export: Worker {
  static let kind = "export"
  static let summary = "Exports the objects of a query as JSON Lines or CSV"

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    let parameters: ExportParameters
    let values: ObjectValues
    let request: NSFetchRequest<NSManagedObjectID>
    do {
      parameters = try ExportParameters(try job.parameters)
      let entity = try parameters.query.entityDescription(in: model)
      values = try ObjectValues(entity: entity, properties: parameters.properties, dates: parameters.dates)
      request = try parameters.query.fetchRequest(in: model)
    } catch {
      throw PermanentFailure("\(error)")
    }
    try job.checkOutput(path: parameters.file)
    request.resultType = .managedObjectIDResultType
    let ids = try context.fetch(request)
    let writer = RecordWriter(
      format: parameters.format, names: (parameters.includesObjectID ? ["objectID"] : []) + values.names)
    ReplacingFile.removeAbandoned(of: parameters.file)
    let file = try ReplacingFile(parameters.file, mode: 0o666)
    try file.write(writer.header)
    // The IDs of all objects are in memory, the objects themselves for one batch only: the context keeps no unused
    // object.
    for start in stride(from: 0, to: ids.count, by: parameters.batch) {
      try job.checkStop()
      let batch = Array(ids[start..<min(start + parameters.batch, ids.count)])
      for object in try objects(batch, entity: parameters.query.entity, context) {
        var row = values.values(of: object)
        if parameters.includesObjectID {
          row.insert(.string(object.objectID.uriString), at: 0)
        }
        try file.write(writer.row(row))
      }
      job.report(done: Int64(start + batch.count), of: Int64(ids.count))
    }
    try file.complete(surviving: .power)
  }

  /// The objects of these IDs in their order; without those that were deleted meanwhile.
  private func objects(
    _ ids: [NSManagedObjectID], entity: String, _ context: NSManagedObjectContext
  ) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = NSPredicate(format: "SELF IN %@", ids)
    request.returnsObjectsAsFaults = false
    var objectsByID: [NSManagedObjectID: NSManagedObject] = [:]
    for object in try context.fetch(request) { objectsByID[object.objectID] = object }
    return ids.compactMap { objectsByID[$0] }
  }
}
