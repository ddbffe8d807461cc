import Glibc

/// A regular file that others may have put there, open for reading.
///
/// Opening it never blocks: O_NONBLOCK keeps a named pipe from blocking (open(2)). Its owner, size and age are those of
/// the file that is read, even if another file has come to its name meanwhile.
package struct GuardedFile {
  /// Why a file is not read.
  package enum Refusal: Error {
    case missing
    /// It is not a regular file but, for example, "a symbolic link"; nil where the kernel does not say what it is.
    case notRegular(String?)
    /// This user may not read it.
    case notPermitted
    case tooLarge
    /// It is being written.
    case changing
    /// A system call failed, which is not the file's fault.
    case failed(FileError)
  }

  /// What to do with a path that ends in a symbolic link.
  package enum Links {
    /// The link is not a regular file (O_NOFOLLOW of open(2)).
    case refused
    /// The file that it leads to is opened.
    case followed
  }

  package let status: stat
  private let path: String
  private let descriptor: Descriptor

  /// - Parameters:
  ///   - name: the name in `directory`, or a path.
  ///   - path: the whole path, for errors.
  package init(
    _ name: String, in directory: Int32 = AT_FDCWD, path: String, links: Links = .refused
  ) throws(Refusal) {
    self.path = path
    let linkFlag = links == .refused ? O_NOFOLLOW : 0
    let number = openat(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | linkFlag)
    do {
      descriptor = try Descriptor(number, "openat")
    } catch {
      throw switch error.number {
      case ENOENT: .missing
      case ELOOP where links == .refused: .notRegular("a symbolic link")
      case EACCES, EPERM: .notPermitted
      case ENXIO: .notRegular("a socket")
      case let reason: .failed(FileError(path: path, action: "be opened", errno: reason))
      }
    }
    var status = stat()
    guard fstat(descriptor.number, &status) == 0 else {
      throw .failed(FileError(path: path, action: "be examined", errno: errno))
    }
    guard FileKind(status) == .regular else { throw .notRegular(nil) }
    self.status = status
  }

  /// Whether this user or root owns it.
  package var isOwn: Bool { status.st_uid == geteuid() || status.st_uid == 0 }

  /// All of it.
  package func bytes(atMost limit: Int) throws(Refusal) -> [UInt8] {
    let size = Int(status.st_size)
    guard size <= limit else { throw .tooLarge }
    var failure: Int32 = 0
    // One byte more than the file has: then a file that grows meanwhile is noticed.
    let bytes = [UInt8](unsafeUninitializedCapacity: size + 1) { buffer, count in
      while count <= size {
        let got = read(descriptor.number, buffer.baseAddress.map { $0 + count }, size + 1 - count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { break }
        count += got
        // A file on a disk gives less than was asked for only at its end.
        if count == size { break }
      }
    }
    guard failure == 0 else { throw .failed(FileError(path: path, action: "be read", errno: failure)) }
    guard bytes.count == size else { throw .changing }
    return bytes
  }

  /// The next bytes of it, at most that many; none at its end.
  package func nextBytes(atMost count: Int) throws(Refusal) -> [UInt8] {
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
      var got = Glibc.read(descriptor.number, buffer.baseAddress, count)
      while got < 0, errno == EINTR { got = Glibc.read(descriptor.number, buffer.baseAddress, count) }
      if got < 0 { failure = errno }
      read = max(got, 0)
    }
    guard failure == 0 else { throw .failed(FileError(path: path, action: "be read", errno: failure)) }
    return bytes
  }
}

extension GuardedFile.Refusal: CustomStringConvertible {
  /// The rest of a sentence that begins with the file's path.
  package var description: String {
    switch self {
    case .missing: "is not there"
    case .notRegular(let kind):
      "is \(kind ?? "not a regular file")" + (kind == nil ? "" : "; a regular file is expected")
    case .notPermitted: "cannot be read by this user"
    case .tooLarge: "is too large"
    case .changing: "changes while it is read"
    case .failed(let error): "cannot \(error.action): \(String(cString: strerror(error.errno)))"
    }
  }
}
