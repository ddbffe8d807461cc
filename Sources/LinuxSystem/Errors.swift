import Glibc

/// A system call that failed: which one, on what, and the error number.
public struct SystemCallError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The name of the call, such as "openat".
  public let call: String
  /// The path that it was about; nil for none.
  public let path: String?
  /// The error number, as in errno(3).
  public let number: Int32
  /// What is wrong, where the error number does not say it.
  public let detail: String?

  /// Takes the current `errno` unless another number is given.
  public init(_ call: String, path: String? = nil, number: Int32 = errno, detail: String? = nil) {
    self.call = call
    self.path = path
    self.number = number
    self.detail = detail
  }

  /// The call, the path, and what the error number means.
  public var description: String {
    let reason = detail ?? ErrorNumber.text(number)
    return path.map { "\(call) \($0): \(reason)" } ?? "\(call): \(reason)"
  }
}

/// A system call on a file or directory failed.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the file or directory.
  public let path: String
  /// What was tried: "\(path) cannot \(action)".
  public let action: String
  /// The error number, as in errno(3).
  public let errno: Int32
  /// What is wrong with the file, as the rest of a sentence that begins with its path; nil where the error number says
  /// it.
  public let reason: String?

  /// - Parameters:
  ///   - path: the path of the file or directory.
  ///   - action: what was wanted, as in "be opened".
  ///   - errno: the error number.
  ///   - reason: what is wrong with the file, as the rest of a sentence that begins with its path.
  public init(path: String, action: String, errno: Int32, reason: String? = nil) {
    self.path = path
    self.action = action
    self.errno = errno
    self.reason = reason
  }

  /// The path and what is wrong with the file; without a reason, what was tried and what the error number means.
  public var description: String {
    "\(path) " + (reason ?? "cannot \(action): \(ErrorNumber.text(errno))")
  }
}
