import Foundation
import Jobs

/// The entries in `queue/periodic/`, one in each file that ends in `.json`.
struct PeriodicDirectory: Sendable {
  let path: String

  /// The entries by name, and what is wrong with files that are none, by theirs.
  ///
  /// Throws when the directory cannot be listed.
  func entries() throws -> (entries: [PeriodicEntry], problems: [String: String]) {
    let files = try FileManager.default.contentsOfDirectory(atPath: path)
      .filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    var entries: [PeriodicEntry] = []
    var problems: [String: String] = [:]
    for file in files {
      let name = String(file.dropLast(".json".count))
      do {
        entries.append(try PeriodicEntry(name: name, contents: try contents(of: file)))
      } catch {
        problems[name] = "\(error)"
      }
    }
    return (entries, problems)
  }

  private func contents(of file: String) throws -> [UInt8] {
    let path = path + "/" + file
    // As with job files: a link leads elsewhere, and a pipe would block.
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened", errno: errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError(path: path, action: "be examined", errno: errno) }
    guard status.st_uid == geteuid() || status.st_uid == 0 else {
      throw FileError(
        path: path, action: "be an entry: it belongs to user \(status.st_uid), not to the pool's user or root",
        errno: EPERM)
    }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= PeriodicEntry.maximumSize else {
      throw FileError(path: path, action: "be an entry: it is no regular file or too large", errno: EINVAL)
    }
    var bytes = [UInt8](repeating: 0, count: PeriodicEntry.maximumSize + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count) }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw FileError(path: path, action: "be read", errno: errno) }
      if got == 0 { break }
      count += got
    }
    return Array(bytes[..<count])
  }
}
