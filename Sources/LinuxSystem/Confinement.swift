import CSystem
import Glibc

/// What a process and all that it starts may do: read, write and execute files in some places, and use networks or not.
/// Everything else is denied, to root too.
///
/// Landlock guards files, TCP, signals and abstract sockets, as far as the kernel knows them; a filter denies all
/// sockets but those of networks that are allowed, system calls that no worker needs, and those that change other
/// processes or files by their path. Root loses all capabilities but those for files and users.
///
/// Source: landlock(7), seccomp(2).
package struct Confinement: Equatable, Sendable {
  /// What is allowed in a place.
  package struct Rights: OptionSet, Equatable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let read = Rights(rawValue: 1)
    package static let write = Rights(rawValue: 2)
    package static let execute = Rights(rawValue: 4)
  }

  /// Rights by path: of a file, or of a directory and all below it. A path at which there is nothing is left out.
  package var places: [String: Rights] = [:]
  package var allowsNetwork = false
  /// Whether modes, owners, times and attributes of open files may be changed: of all that can be read, since no kernel
  /// tells reading and writing apart there.
  package var changesFiles = false

  package init() {}

  package mutating func allow(_ rights: Rights, _ path: String) { places[path, default: []].insert(rights) }

  /// Why this kernel cannot confine processes; nil if it can.
  package static var obstacle: String? {
    guard csystem_landlock_version() < 0 else { return nil }
    switch errno {
    case EOPNOTSUPP:
      return "Landlock is turned off in this kernel: add landlock to the list of lsm= on its command line"
    case ENOSYS: return "this kernel has no Landlock, which Linux has since 5.13"
    case let number: return "Landlock cannot be used: \(String(cString: strerror(number)))"
    }
  }

  /// What a process needs that starts confined.
  struct Prepared {
    let ruleset: Descriptor
    let filter: [sock_filter]
  }

  // The rights of Landlock: for files, then for directories.
  private static let execute: UInt64 = 1 << 0
  private static let writeFile: UInt64 = 1 << 1
  private static let readFile: UInt64 = 1 << 2
  private static let readDirectory: UInt64 = 1 << 3
  /// Removing entries, and making all but devices.
  private static let changeDirectory: UInt64 = 0x17B0
  private static let refer: UInt64 = 1 << 13
  private static let truncate: UInt64 = 1 << 14
  private static let ioctlDevice: UInt64 = 1 << 15
  /// What a rule for a file may hold.
  private static let ofFiles = execute | writeFile | readFile | truncate | ioctlDevice
  private static let bindAndConnect: UInt64 = 3
  private static let abstractSocketsAndSignals: UInt64 = 3

  /// What a kernel of this version can deny.
  private static func deniable(by version: Int32) -> UInt64 {
    var rights: UInt64 = (1 << 13) - 1
    if version >= 2 { rights |= refer }
    if version >= 3 { rights |= truncate }
    if version >= 5 { rights |= ioctlDevice }
    return rights
  }

  func prepare() throws(SystemCallError) -> Prepared {
    let version = csystem_landlock_version()
    let deniable = Self.deniable(by: version)
    let ruleset = try Descriptor(
      csystem_landlock_create(
        deniable, version >= 4 && !allowsNetwork ? Self.bindAndConnect : 0,
        version >= 6 ? Self.abstractSocketsAndSignals : 0, version), "landlock_create_ruleset")
    for (path, rights) in places {
      let number = csystem_open_path(path)
      guard number >= 0 else { continue }
      let place = try Descriptor(number, "open")
      var status = stat()
      guard fstat(place.number, &status) == 0 else { continue }
      var allowed: UInt64 = 0
      if rights.contains(.read) { allowed |= Self.readFile | Self.readDirectory }
      if rights.contains(.write) {
        allowed |= Self.writeFile | Self.truncate | Self.changeDirectory | Self.refer | Self.ioctlDevice
      }
      if rights.contains(.execute) { allowed |= Self.execute }
      if FileKind(status) != .directory { allowed &= Self.ofFiles }
      guard csystem_landlock_allow(ruleset.number, place.number, allowed & deniable) == 0 else {
        throw SystemCallError("landlock_add_rule", path: path)
      }
    }
    let filter = [sock_filter](unsafeUninitializedCapacity: Int(csystem_filter_room)) { buffer, count in
      count = Int(csystem_write_filter(buffer.baseAddress, allowsNetwork ? 1 : 0, changesFiles ? 1 : 0))
    }
    return Prepared(ruleset: ruleset, filter: filter)
  }
}
