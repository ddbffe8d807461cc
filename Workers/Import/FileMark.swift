import WorkerKit

/// How far an import has come, kept in the job's checkpoint: good for the same file only.
struct FileMark: Codable, Hashable {
  /// Rows of the file that are in the store.
  var rows: Int
  /// How many of them made or changed an object.
  private var outcome: ImportOutcome
  /// Bytes.
  let size: Int64
  /// Seconds since 2001.
  let modified: Double

  /// The mark at the beginning of a file.
  init(path: String) throws {
    let file = try InputFile(path)
    rows = 0
    outcome = ImportOutcome()
    size = file.size
    modified = file.modified.timeIntervalSinceReferenceDate
  }

  /// This mark, or how far an earlier attempt came with the same file.
  func resumed(from checkpoint: Data?) -> FileMark {
    // A checkpoint of another version of the plugin is one of another file: the import begins anew.
    guard let checkpoint, let earlier = try? JSONDecoder().decode(FileMark.self, from: checkpoint),
      earlier.size == size, earlier.modified == modified
    else { return self }
    return earlier
  }

  /// Notes that rows are taken.
  mutating func add(_ outcome: ImportOutcome, upTo row: Int) {
    rows = row
    self.outcome.add(outcome)
  }

  /// `5,000 rows read: 20 inserted, 3 changed, 4,977 unchanged, 0 references skipped`
  var report: String {
    "\(rows) row\(rows == 1 ? "" : "s") read: \(outcome.inserted) inserted, \(outcome.changed) changed, "
      + "\(rows - outcome.inserted - outcome.changed) unchanged, "
      + "\(outcome.skipped) reference\(outcome.skipped == 1 ? "" : "s") skipped"
  }

  func data() throws -> Data { try JSONEncoder().encode(self) }
}
