import CoreData

/// A system call on a file or directory failed.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  public let path: String
  /// What was wanted: "\(path) cannot \(action)".
  public let action: String
  public let errno: Int32

  public init(path: String, action: String, errno: Int32) {
    self.path = path
    self.action = action
    self.errno = errno
  }

  public var description: String { "\(path) cannot \(action): \(String(cString: strerror(errno)))" }
}

extension Collection<UInt8> {
  /// Writes all the bytes to a descriptor, in as many calls as it takes.
  ///
  /// - Parameter path: what the descriptor is open on, for the error.
  /// - Throws: ``FileError``; then a part may be written.
  public func writeAll(to descriptor: Int32, path: String) throws(FileError) {
    var rest = Array(self)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw FileError(path: path, action: "be written", errno: errno) }
      rest = rest.dropFirst(written)
    }
  }
}
