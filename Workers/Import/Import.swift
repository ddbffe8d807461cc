import WorkerKit

/// Imports a file of JSON, JSON Lines or CSV into an entity: finds each row's object by a key or inserts it, and sets
/// what differs. Importing the same file again changes nothing.
@main struct Import: Worker {
  static let kind = "import"
  static let summary = "Imports JSON, JSON Lines or CSV into an entity, by a key"

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let parameters: ImportParameters
    let plan: ImportPlan
    do {
      parameters = try ImportParameters(try job.parameters)
      guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
      plan = try ImportPlan(parameters, model: model)
    } catch {
      throw PermanentFailure("\(error)")
    }
    do {
      try run(job, parameters, plan, in: context)
    } catch let error as RowError {
      throw ImportFileError(file: parameters.file, reason: "\(error)")
    } catch let error as JSONError {
      throw ImportFileError(file: parameters.file, reason: "\(error)")
    }
  }

  private func run(
    _ job: Job, _ parameters: ImportParameters, _ plan: ImportPlan, in context: NSManagedObjectContext
  ) throws {
    var mark = try FileMark(path: parameters.file).resumed(from: job.checkpoint)
    var reader = try parameters.rows()
    if let columns = reader.columns, !columns.isEmpty {
      do { try parameters.check(columns: columns) } catch { throw PermanentFailure("\(error)") }
    }
    var rows: [ImportRow] = []
    while let row = try reader.next() {
      guard row.number > mark.rows else { continue }
      rows.append(row)
      guard rows.count == parameters.chunk else { continue }
      try job.checkStop()
      mark.add(try take(&rows, plan, context), upTo: row.number)
      job.report(done: reader.offset, of: mark.size)
      try job.save(checkpoint: try mark.data())
    }
    let last = rows.last?.number ?? mark.rows
    mark.add(try take(&rows, plan, context), upTo: last)
    job.output = mark.report
    job.report(done: mark.size, of: mark.size)
  }

  private func take(
    _ rows: inout [ImportRow], _ plan: ImportPlan, _ context: NSManagedObjectContext
  ) throws -> ImportOutcome {
    defer { rows.removeAll(keepingCapacity: true) }
    var chunk = ImportChunk(plan: plan, context: context)
    return try chunk.apply(rows)
  }
}

/// What is wrong in the file of an import, with its path.
struct ImportFileError: Error, Hashable, CustomStringConvertible {
  let file: String
  let reason: String

  var description: String { reason.contains(file) ? reason : "\(file): \(reason)" }
}
