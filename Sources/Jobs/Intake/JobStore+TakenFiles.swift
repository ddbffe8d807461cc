import CoreData

/// Job files whose jobs are in the store, but which may still lie in the queue directory.
///
/// ```text
/// the pool                                             killed after this
/// renames the file to a private name                   the file is taken at the next start
/// saves its jobs, and a row PoolFile, in one save      the row says that its jobs are there: the file is only deleted
/// deletes the file                                     the row is left; nothing lies there
/// deletes the row
/// ```
///
/// So no file is taken twice, and none is lost, no matter when the pool is killed.
extension JobStore {
  /// Notes that the jobs of a file are being taken, without saving: see ``PoolFile``.
  public func insertTakenFile(_ file: TakenFileKey, into context: NSManagedObjectContext) -> NSManagedObject {
    let row = PoolFile(context: context)
    row.name = file.text
    return row
  }

  /// The files whose jobs are in the store, but which may still lie in a queue directory: in that of the pool that
  /// asks, or in another that has been used with the store.
  public func takenFiles(in context: NSManagedObjectContext) throws -> [TakenFileRow] {
    let request = PoolFile.fetchRequest()
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).compactMap { row in
      TakenFileKey(row.name).map { TakenFileRow(objectID: row.objectID, key: $0) }
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

/// What the store notes of a taken file: its name, and the identity of the directory where it lies.
///
/// Only a pool that has that very directory before it knows that the file is gone. A pool with another queue directory
/// leaves the note: its file is still there when the directory is used again.
public struct TakenFileKey: Hashable, Sendable {
  /// The identity of the directory.
  public let directory: String
  /// The file's private name; no other file ever gets it.
  public let name: String

  /// A file in the directory of that identity.
  public init(_ name: String, in directory: String) {
    self.name = name
    self.directory = directory
  }

  /// Reads what ``text`` wrote; nil for any other text.
  init?(_ text: String) {
    // No file's name has a slash.
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return nil }
    (directory, name) = (parts[0], parts[1])
  }

  /// The note in the store.
  var text: String { directory + "/" + name }
}

/// The store's row of a taken file.
public struct TakenFileRow: Sendable {
  /// The identity of the row.
  public let objectID: NSManagedObjectID
  /// The file.
  public let key: TakenFileKey
}
