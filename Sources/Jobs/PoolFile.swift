import CoreData

extension PoolFile {
  /// The identity by which an earlier version of the pool recognised the file; nil in rows of later versions. ``name``
  /// is the producer's name then.
  var earlierIdentity: EarlierFileIdentity? {
    guard let inode, let modified, let size else { return nil }
    return EarlierFileIdentity(inode: inode, modified: modified, size: size)
  }
}

/// The identity of a file for earlier versions of the pool, which took files where they lay.
public struct EarlierFileIdentity: Hashable, Sendable {
  /// The number of the file's inode.
  public let inode: Int64
  /// When the file was changed last, in nanoseconds since 1970.
  public let modified: Int64
  /// The length of the file in bytes.
  public let size: Int64
}
