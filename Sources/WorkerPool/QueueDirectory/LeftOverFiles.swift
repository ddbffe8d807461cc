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
    let files = try directory.takenFiles()
    directory.avoid(files.map(\.name) + rows.map(\.key.name))
    let rowsByName = Dictionary(rows.map { ($0.key.name, $0) }, uniquingKeysWith: { first, _ in first })
    for file in files {
      if let row = rowsByName[file.name] {
        taken.append(try file.item(row))
      } else {
        unread.append(file)
      }
    }
    // Of files in other directories nothing is known: each may be there when its directory is used again.
    guard let currentIdentity = try directory.taken.current?.identity() else { return }
    let matched = Set(taken.compactMap(\.row))
    gone = rows.filter { $0.key.directory == currentIdentity }.map(\.objectID).filter { !matched.contains($0) }
  }
}

extension TakenJobFile {
  /// The file to remove, with its row if that may be deleted afterwards.
  func item(_ row: TakenFileRow) throws(FileError) -> TakenFileRemoval.Item {
    TakenFileRemoval.Item(file: self, row: row.key.directory == (try directory.identity()) ? row.objectID : nil)
  }
}
