import Glibc

extension stat {
  /// Whether it is a file of bytes on a disk, and not a device, a pipe, a directory or a link.
  package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }

  /// What it is, with its article: "a directory".
  package var kindDescription: String {
    switch st_mode & S_IFMT {
    case S_IFREG: "a regular file"
    case S_IFDIR: "a directory"
    case S_IFLNK: "a symbolic link"
    case S_IFIFO: "a named pipe"
    case S_IFSOCK: "a socket"
    case S_IFCHR, S_IFBLK: "a device"
    default: "no regular file"
    }
  }
}
