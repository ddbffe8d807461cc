import Glibc

/// What a file is, by its mode. Prints itself with its article: "a directory".
///
/// A type of its own: an extension of the C structure in this module is not always seen by another one. The compiler
/// (Swift 6.3.1) then says that `stat` has no such member, in a build from nothing only.
package enum FileKind: CustomStringConvertible {
  /// A file of bytes on a disk.
  case regular
  case directory, symbolicLink, namedPipe, socket, device, unknown

  package init(_ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .regular
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .symbolicLink
    case S_IFIFO: self = .namedPipe
    case S_IFSOCK: self = .socket
    case S_IFCHR, S_IFBLK: self = .device
    default: self = .unknown
    }
  }

  package var description: String {
    switch self {
    case .regular: "a regular file"
    case .directory: "a directory"
    case .symbolicLink: "a symbolic link"
    case .namedPipe: "a named pipe"
    case .socket: "a socket"
    case .device: "a device"
    case .unknown: "no regular file"
    }
  }
}
