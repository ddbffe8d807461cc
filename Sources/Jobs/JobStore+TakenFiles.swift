import CoreData

/// Job files whose jobs are in the store, but which may still lie in the queue directory.
extension JobStore {
  /// Notes that the jobs of a file are being taken, without saving: see ``PoolFile``.
  ///
  /// - Parameters:
  ///   - name: the file's private name; no other file ever gets it.
  ///   - pool: the identity of the pool that takes it, in a store that several pools share.
  public func insertTakenFile(
    _ name: String, of pool: String? = nil, into context: NSManagedObjectContext
  ) -> NSManagedObject {
    let file = PoolFile(context: context)
    file.name = (pool.map { $0 + "/" } ?? "") + name
    return file
  }

  /// The files whose jobs are in the store, but which may still lie in the queue directory.
  ///
  /// - Parameter pool: the identity of the pool that asks, in a store that several pools share.
  public func takenFiles(of pool: String? = nil, in context: NSManagedObjectContext) throws -> [TakenFileRow] {
    let request = PoolFile.fetchRequest()
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).map { row in
      // No file's name has a slash.
      let parts = row.name.split(separator: "/", maxSplits: 1).map(String.init)
      return TakenFileRow(
        objectID: row.objectID, name: parts.last ?? row.name, isOwn: parts.count < 2 || parts[0] == pool,
        earlierIdentity: row.earlierIdentity)
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
  /// Whether no other pool has taken the file, so that it lies in this pool's queue directory or nowhere.
  public let isOwn: Bool
  /// Only in rows that an earlier version of the pool wrote.
  public let earlierIdentity: EarlierFileIdentity?
}
