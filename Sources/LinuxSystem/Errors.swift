import Glibc

/// A system call that failed: which one, on what, and the error number.
public struct SystemCallError: Error, Equatable, Sendable, CustomStringConvertible {
  public let call: String
  public let path: String?
  public let number: Int32

  /// Takes the current `errno` unless another number is given.
  public init(_ call: String, path: String? = nil, number: Int32 = errno) {
    self.call = call
    self.path = path
    self.number = number
  }

  public var description: String {
    let reason = String(cString: strerror(number))
    return path.map { "\(call) \($0): \(reason)" } ?? "\(call): \(reason)"
  }
}

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
