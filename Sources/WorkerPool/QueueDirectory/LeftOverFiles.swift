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

  init(_ directory: IncomingDirectory, _ rows: [TakenFileRow]) throws(FileError) {
    directory.avoid(try directory.takenFiles().map(\.name) + rows.map(\.name))
    // Files of the earlier format were taken where they lay. A file that has such a name now becomes the pool's own
    // before it is compared: no producer can replace it then.
    for row in rows where row.earlierIdentity != nil {
      if case .failed(let error) = directory.take(row.name, minimumAge: 0) { throw error }
    }
    var rowsByName = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for file in try directory.takenFiles() {
      if let row = rowsByName[file.name], row.earlierIdentity == nil {
        rowsByName[file.name] = nil
        taken.append(.init(file: file, row: row.objectID))
      } else if let row = rowsByName[file.originalName], let identity = row.earlierIdentity, file.has(identity) {
        rowsByName[file.originalName] = nil
        taken.append(.init(file: file, row: row.objectID))
      } else {
        unread.append(file)
      }
    }
    let matched = Set(taken.map(\.row))
    gone = rows.filter(\.isOwn).map(\.objectID).filter { !matched.contains($0) }
  }
}

extension TakenJobFile {
  /// Whether this is the file that an earlier version of the pool has taken.
  ///
  /// The device's number is not compared: the same file has another one after its file system was mounted again.
  fileprivate func has(_ identity: EarlierFileIdentity) -> Bool {
    guard let status = directory.status(of: name) else { return false }
    return Int64(bitPattern: UInt64(status.st_ino)) == identity.inode
      && OpenDirectory.nanoseconds(status.st_mtim) == identity.modified && Int64(status.st_size) == identity.size
  }
}
