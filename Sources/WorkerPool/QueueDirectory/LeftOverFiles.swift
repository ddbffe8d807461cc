import CoreData
import Jobs

/// What an earlier process left in `taken/`, matched with the rows that say which files' jobs are in the store.
struct LeftOverFiles {
  /// Files whose jobs are in the store.
  private(set) var taken: [TakenFileRemoval.Item] = []
  /// The rows of files that are gone.
  private(set) var gone: [NSManagedObjectID] = []
  /// Files that were not read, or whose jobs did not reach the store.
  private(set) var unread: [TakenJobFile] = []

  /// - Parameter rows: all that the store has. A file whose jobs are in the store is not taken again, no matter which
  ///   queue directory it lay in then.
  init(_ directory: IncomingDirectory, _ rows: [TakenFileRow]) throws(FileError) {
    directory.avoid(try directory.takenFiles().map(\.name) + rows.map(\.key.name))
    // Files of the earlier format were taken where they lay. A file that has such a name now becomes the pool's own
    // before it is compared: no producer can replace it then.
    for row in rows where row.earlierIdentity != nil {
      if case .failed(let error) = directory.take(row.key.name, minimumAge: 0) { throw error }
    }
    var rowsByName = Dictionary(rows.map { ($0.key.name, $0) }, uniquingKeysWith: { first, _ in first })
    let files = try directory.takenFiles()
    for file in files {
      if let row = rowsByName[file.name], row.earlierIdentity == nil {
        rowsByName[file.name] = nil
        taken.append(try file.item(row))
      } else if let row = rowsByName[file.originalName], let identity = row.earlierIdentity, file.has(identity) {
        rowsByName[file.originalName] = nil
        taken.append(.init(file: file, row: row.objectID))
      } else {
        unread.append(file)
      }
    }
    // Of files in other directories nothing is known: each may be there when its directory is used again.
    guard let own = try directory.taken.current?.identity() else { return }
    let matched = Set(taken.compactMap(\.row))
    gone = rows.filter { $0.key.directory == own || $0.earlierIdentity != nil }.map(\.objectID)
      .filter { !matched.contains($0) }
  }
}

extension TakenJobFile {
  /// The file to remove, with its row if that may be deleted afterwards.
  func item(_ row: TakenFileRow) throws(FileError) -> TakenFileRemoval.Item {
    TakenFileRemoval.Item(file: self, row: row.key.directory == (try directory.identity()) ? row.objectID : nil)
  }

  /// Whether this is the file that an earlier version of the pool has taken.
  ///
  /// The device's number is not compared: the same file has another one after its file system was mounted again.
  fileprivate func has(_ identity: EarlierFileIdentity) -> Bool {
    guard let status = directory.status(of: name) else { return false }
    return Int64(bitPattern: UInt64(status.st_ino)) == identity.inode
      && OpenDirectory.nanoseconds(status.st_mtim) == identity.modified && Int64(status.st_size) == identity.size
  }
}
