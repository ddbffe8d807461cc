import Glibc

/// The identity of a file under any path: device and inode.
public struct FileID: Hashable, Sendable, CustomStringConvertible {
  /// The number of the device.
  public let device: UInt64
  /// The number of the inode on that device.
  public let inode: UInt64

  /// The file of this status.
  public init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  /// The file to which a path leads, through symbolic links; nil when it leads to none.
  public init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Reads what ``description`` wrote.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else { return nil }
    self.device = device
    self.inode = inode
  }

  /// Both numbers with a colon between them.
  public var description: String { "\(device):\(inode)" }

  /// A path without symbolic links; nil when it leads to no file.
  package static func resolve(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
