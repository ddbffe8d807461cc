internal import Synchronization

/// The names of Swift key paths: what key-value coding would call them.
///
/// Objective-C knows these by itself; here generated code registers them once per class.
public enum KeyPathNames {
  /// Key paths are immutable, but not marked `Sendable`: only lookups by value happen under the lock.
  private struct Table: @unchecked Sendable {
    var names: [AnyKeyPath: String] = [:]
  }

  private static let table = Mutex(Table())

  /// Adds names; a later name for the same path replaces the earlier one.
  public static func register(_ names: [AnyKeyPath: String]) {
    let added = Table(names: names)
    table.withLock { $0.names.merge(added.names) { $1 } }
  }

  static func name(of keyPath: AnyKeyPath) -> String? {
    let wanted = Table(names: [keyPath: ""])
    return table.withLock { table in wanted.names.keys.first.flatMap { table.names[$0] } }
  }
}

extension AnyKeyPath {
  /// The path's registered name. Takes the place of the standard library's property, which is nil on Linux.
  public var _kvcKeyPathString: String? { KeyPathNames.name(of: self) }
}
