/// The control groups of a process, of both versions.
///
/// Source: cgroups(7), "/proc/pid/cgroup"; proc_pid_mountinfo(5).
package struct ControlGroups {
  /// The text of `/proc/PID/cgroup`.
  let groups: String
  /// The text of `/proc/PID/mountinfo`.
  let mounts: String
  let read: (_ path: String) -> String?

  package static var ofThisProcess: ControlGroups {
    ControlGroups(
      groups: KernelFile.text("/proc/self/cgroup") ?? "", mounts: KernelFile.text("/proc/self/mountinfo") ?? "",
      read: KernelFile.text)
  }

  /// The limits of the process's groups and of the groups around them, in bytes.
  ///
  /// Beyond `memory.high` the kernel slows the processes down.
  ///
  /// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, "memory.max";
  /// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, "memory.limit_in_bytes".
  var memoryLimits: [Int] {
    memberships.flatMap { mount, group in
      mount.folders(of: group).flatMap { folder in
        // "max" stands for none.
        mount.files.compactMap { Int((read("\(folder)/\($0)") ?? "").prefix { !$0.isWhitespace }) }
      }
    }
  }

  /// The folder of the process's own group of version 2; nil where it cannot be seen.
  package var ownFolder: String? {
    memberships.lazy.compactMap { mount, group in
      mount.isVersion2 && mount.holds(group) ? mount.folders(of: group).last : nil
    }.first
  }

  /// The mounts, each with the process's group in it.
  private var memberships: [(mount: Mount, group: Substring)] {
    let lines = groups.split(separator: "\n").map {
      $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    }
    return mounts.split(separator: "\n").compactMap(Mount.init).compactMap { mount in
      lines.first { $0.count == 3 && mount.holds(controllers: $0[1]) }.map { (mount, $0[2]) }
    }
  }

  /// A place where the groups that have limits of memory are folders.
  private struct Mount {
    /// The group that is the folder itself: not the first one in a container without a namespace of control groups.
    let root: Substring
    let folder: Substring
    let isVersion2: Bool

    /// - Parameter line: one of `/proc/PID/mountinfo`; nil for other mounts.
    init?(_ line: Substring) {
      let fields = line.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 3 else { return nil }
      isVersion2 = fields[dash + 1] == "cgroup2"
      let isVersion1 = fields[dash + 1] == "cgroup" && fields[dash + 3].split(separator: ",").contains("memory")
      guard isVersion1 || isVersion2 else { return nil }
      (root, folder) = (fields[3], fields[4])
    }

    /// The files with limits in each folder.
    var files: [String] { isVersion2 ? ["memory.max", "memory.high"] : ["memory.limit_in_bytes"] }

    /// Whether a group with these controllers is one of the mount's; a group of version 2 names none.
    func holds(controllers: Substring) -> Bool {
      isVersion2 ? controllers.isEmpty : controllers.split(separator: ",").contains("memory")
    }

    /// Whether the group can be seen there.
    func holds(_ group: Substring) -> Bool {
      let names = group.split(separator: "/")
      return names.starts(with: root.split(separator: "/")) && !names.contains("..")
    }

    /// The folders of a group and of the groups around it.
    func folders(of group: Substring) -> [String] {
      // A group outside the mount: what is mounted is all that can be seen.
      let inner = holds(group) ? group.split(separator: "/").dropFirst(root.split(separator: "/").count) : []
      return inner.indices.reduce(into: ["\(folder)"]) { $0.append("\($0.last ?? "")/\(inner[$1])") }
    }
  }
}
