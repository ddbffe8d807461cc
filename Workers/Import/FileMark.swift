import WorkerKit

/// How far an import has come, kept in the job's checkpoint: good for the same file only.
struct FileMark: Codable, Hashable {
  /// Rows of the file that are in the store.
  var rows: Int
  /// Bytes.
  let size: Int64
  /// Seconds since 2001.
  let modified: Double

  /// The mark at the beginning of a file.
  init(path: String) throws {
    let file = try InputFile(path)
    rows = 0
    size = file.size
    modified = file.modified.timeIntervalSinceReferenceDate
  }

  /// This mark, or how far an earlier attempt came with the same file.
  func resumed(from checkpoint: Data?) -> FileMark {
    guard let checkpoint, let earlier = try? JSONDecoder().decode(FileMark.self, from: checkpoint),
      earlier.size == size, earlier.modified == modified
    else { return self }
    return earlier
  }

  func data() throws -> Data { try JSONEncoder().encode(self) }
}
