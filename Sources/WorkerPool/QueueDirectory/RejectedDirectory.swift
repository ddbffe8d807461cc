import Foundation
import Jobs
import LinuxSystem
import Synchronization

/// `rejected/`, where bad files go, each with an `.error` file beside it that gives the reason.
///
/// Files are deleted with their reasons after some time, and the oldest when there are too many.
final class RejectedDirectory: Sendable {
  let held: HeldDirectory
  private let progress = Mutex(Progress())

  private struct Progress {
    /// Files that were rejected since the last pruning.
    var rejected = 0
    var nextPruning = 0.0
  }

  /// How many files are kept, the youngest.
  static let mostFiles = 10_000

  init(layout: QueueLayout) throws {
    held = try HeldDirectory(layout.rejected, madeBy: .pool(0o777))
  }

  private static let reasonSuffix = ".error"

  // MARK: Rejecting

  /// Moves a bad file here, with a file beside it that says why. An older file with this name is kept.
  ///
  /// - Parameters:
  ///   - bytes: the file's name in `directory`, with a zero at the end.
  ///   - name: the name that its producer gave it. It keeps that name here, with a number if another file has it.
  /// - Returns: the name that it has here.
  /// - Complexity: logarithmic in the number of files with this name.
  @discardableResult
  func reject(
    _ bytes: [CChar], in directory: OpenDirectory, as name: String, reason: String
  ) throws(FileError) -> String {
    let path = directory.path + "/" + name
    guard let rejected = held.current else {
      throw FileError(path: path, action: "be moved to \(held.path)", errno: ENOENT)
    }
    // Another program may take the name that is free now.
    for _ in 0..<10 {
      let target = freeName(for: name, in: rejected)
      guard try makeReason(target, "\(name): \(reason)\n", in: rejected) else { continue }
      if renameat(directory.descriptor, bytes, rejected.descriptor, target) == 0 {
        progress.withLock { $0.rejected += 1 }
        return target
      }
      let error = FileError(path: path, action: "be moved to \(rejected.path)", errno: errno)
      unlinkat(rejected.descriptor, target + Self.reasonSuffix, 0)
      if error.errno == ENOENT { return target }
      throw error
    }
    throw FileError(path: path, action: "be moved to \(rejected.path)", errno: EEXIST)
  }

  /// The name itself, or the name with the first free number behind it: tries doubling numbers, then those between the
  /// last two.
  private func freeName(for name: String, in rejected: OpenDirectory) -> String {
    func candidate(_ number: Int) -> String { number == 0 ? name : "\(name).\(number)" }
    func isUsed(_ number: Int) -> Bool {
      rejected.status(of: candidate(number)) != nil || rejected.status(of: candidate(number) + Self.reasonSuffix) != nil
    }
    guard isUsed(0) else { return name }
    var used = 0
    var free = 1
    while isUsed(free) { (used, free) = (free, 2 * free) }
    while free - used > 1 {
      let middle = (used + free) / 2
      if isUsed(middle) { used = middle } else { free = middle }
    }
    return candidate(free)
  }

  /// False when there is a file with this name.
  private func makeReason(_ target: String, _ text: String, in rejected: OpenDirectory) throws(FileError) -> Bool {
    let name = target + Self.reasonSuffix
    let path = rejected.path + "/" + name
    let descriptor = openat(rejected.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0, errno == EEXIST { return false }
    guard descriptor >= 0 else { throw FileError(path: path, action: "be created", errno: errno) }
    defer { close(descriptor) }
    do {
      try text.utf8.writeAll(to: descriptor, path: path)
    } catch {
      unlinkat(rejected.descriptor, name, 0)
      throw error
    }
    return true
  }

  // MARK: Pruning

  /// Seconds between two prunings, and the number of rejected files after which one comes sooner.
  private static let pruneInterval = 3600.0
  private static let pruneStep = 1000

  /// Prunes if the last pruning was long ago, or many files have come since.
  func pruneNowAndThen(olderThan age: Double?) throws(FileError) {
    let isTime = progress.withLock { progress in
      guard progress.rejected >= Self.pruneStep || Clock.now >= progress.nextPruning else { return false }
      progress = Progress(rejected: 0, nextPruning: Clock.now + Self.pruneInterval)
      return true
    }
    if isTime { try prune(olderThan: age) }
  }

  /// Deletes the files that were rejected longer ago than `age` seconds, and the oldest ones beyond `count`, each with
  /// its reason. Directories stay unless they are empty.
  ///
  /// - Parameter age: `nil` keeps files of every age.
  /// - Complexity: reads the whole directory.
  func prune(olderThan age: Double?, keeping count: Int = mostFiles, now: Date = Date()) throws(FileError) {
    guard let rejected = held.current else { return }
    let files = try entries(in: rejected).sorted { ($0.time, $0.name) < ($1.time, $1.name) }
    let limit = age.map { Int64((now.timeIntervalSince1970 - $0) * 1e9) } ?? Int64.min
    let surplus = files.count - count
    for (index, file) in files.enumerated() where index < surplus || file.time < limit {
      // The file first: a reason without its file is found again, but a file without its reason does not say what is
      // wrong with it.
      if unlinkat(rejected.descriptor, file.name, 0) != 0, errno == EISDIR || errno == EPERM {
        guard unlinkat(rejected.descriptor, file.name, AT_REMOVEDIR) == 0 else { continue }
      }
      unlinkat(rejected.descriptor, file.name + Self.reasonSuffix, 0)
    }
  }

  /// How many files lie here, without their reasons.
  func count() throws(FileError) -> Int {
    guard let rejected = held.current else { return 0 }
    var count = 0
    try rejected.forEachName { name in
      let length = strlen(name)
      let isReason = length > 6 && strcmp(name + length - 6, Self.reasonSuffix) == 0
      if !isReason, strcmp(name, ".") != 0, strcmp(name, "..") != 0 { count += 1 }
    }
    return count
  }

  /// The files without their reasons, each with the time in nanoseconds at which it was rejected: that of its reason.
  private func entries(in rejected: OpenDirectory) throws(FileError) -> [(name: String, time: Int64)] {
    var names: Set<String> = []
    try rejected.forEachName { bytes in
      if let name = String(validatingCString: bytes), name != ".", name != ".." { names.insert(name) }
    }
    return names.compactMap { name in
      if name.hasSuffix(Self.reasonSuffix), names.contains(String(name.dropLast(Self.reasonSuffix.count))) {
        return nil
      }
      let reason = names.contains(name + Self.reasonSuffix) ? rejected.status(of: name + Self.reasonSuffix) : nil
      guard let status = reason ?? rejected.status(of: name) else { return nil }
      // A rename does not change the time of the last modification, but that of the last change of status.
      return (name, OpenDirectory.nanoseconds(reason == nil ? status.st_ctim : status.st_mtim))
    }
  }
}
