import Foundation
import LinuxSystem

/// A regular file that a job reads because its parameters name it. Opening it never blocks; a link is followed.
package struct InputFile {
  private let path: String
  private let file: GuardedFile

  /// - Throws: ``InputFileError`` when the file is not there, may not be read, or is a directory, a pipe or a device.
  package init(_ path: String) throws(InputFileError) {
    self.path = path
    file = try Self.telling(path) { () throws(GuardedFile.Refusal) in
      try GuardedFile(path, path: path, links: .followed)
    }
  }

  /// Bytes.
  package var size: Int64 { Int64(file.status.st_size) }

  /// When it was changed last.
  package var modified: Date {
    let time = file.status.st_mtim
    return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }

  /// All of it.
  ///
  /// - Throws: ``InputFileError`` when it is larger than `limit` bytes, or changes meanwhile.
  package func bytes(atMost limit: Int) throws(InputFileError) -> [UInt8] {
    try Self.telling(path) { () throws(GuardedFile.Refusal) in try file.bytes(atMost: limit) }
  }

  /// The next bytes of it, at most that many; none at its end.
  package func nextBytes(atMost count: Int) throws(InputFileError) -> [UInt8] {
    try Self.telling(path) { () throws(GuardedFile.Refusal) in try file.nextBytes(atMost: count) }
  }

  private static func telling<Value>(
    _ path: String, _ body: () throws(GuardedFile.Refusal) -> Value
  ) throws(InputFileError) -> Value {
    do {
      return try body()
    } catch {
      throw InputFileError(path: path, reason: "\(error)")
    }
  }
}

/// A file that a job cannot read. It may be there for the next attempt.
package struct InputFileError: Error, CustomStringConvertible {
  let path: String
  /// The rest of a sentence that begins with the path.
  let reason: String

  package var description: String { "\(path) \(reason)" }
}
