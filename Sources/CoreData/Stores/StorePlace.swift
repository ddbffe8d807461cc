extension URL {
  /// Whether a store at this place is in memory: `/dev/null` or a place below it.
  var isInMemoryStore: Bool { path == "/dev/null" || inMemoryStoreName != nil }

  /// The name of a store in memory that coordinators share; nil for other places.
  var inMemoryStoreName: String? {
    let start = "/dev/null/"
    return path.hasPrefix(start) && path.count > start.count ? String(path.dropFirst(start.count)) : nil
  }

  /// Whether two stores cannot be here and there: the URLs are equal, or lead to one file.
  func isSamePlace(as other: URL?) -> Bool {
    guard let other else { return false }
    if standardizedFileURL == other.standardizedFileURL { return true }
    guard let file = fileIdentity else { return false }
    return file == other.fileIdentity
  }

  /// Device and inode; nil for a place without a file.
  private var fileIdentity: [UInt64]? {
    var status = stat()
    guard isFileURL, !isInMemoryStore, stat(path, &status) == 0 else { return nil }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}
