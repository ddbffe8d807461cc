import CoreData

/// Job files whose jobs are in the store, but which may still lie in the queue directory.
extension JobStore {
  /// Notes that the jobs of a file are being taken, without saving: see ``PoolFile``.
  ///
  /// - Parameter name: the file's private name, unique for ever.
  public func insertTakenFile(_ name: String, into context: NSManagedObjectContext) -> NSManagedObject {
    let file = PoolFile(context: context)
    file.name = name
    return file
  }

  /// The files whose jobs are in the store, but which may still lie in the queue directory.
  public func takenFiles(in context: NSManagedObjectContext) throws -> [TakenFileRow] {
    let request = PoolFile.fetchRequest()
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).map {
      TakenFileRow(objectID: $0.objectID, name: $0.name, earlierIdentity: $0.earlierIdentity)
    }
  }

  /// Deletes the rows of files that are gone for good, and saves. Rows that are gone already are fine.
  public func forgetTakenFiles(_ rows: [NSManagedObjectID], in context: NSManagedObjectContext) throws {
    for start in stride(from: 0, to: rows.count, by: 1000) {
      let part = Array(rows[start..<min(start + 1000, rows.count)])
      _ = try context.execute(NSBatchDeleteRequest(objectIDs: part))
    }
  }
}

/// The store's row of a taken file.
public struct TakenFileRow: Sendable {
  /// The identity of the row.
  public let objectID: NSManagedObjectID
  /// The file's private name.
  public let name: String
  /// Only in rows that an earlier version of the pool wrote.
  public let earlierIdentity: EarlierFileIdentity?
}
