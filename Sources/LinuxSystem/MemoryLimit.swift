import Glibc

/// The memory that this process may have.
package enum MemoryLimit {
  /// Bytes: the machine's memory, or less where a control group or a resource limit of this process is lower.
  ///
  /// Reads several files of the kernel: keep the result.
  ///
  /// Source: sysconf(3); getrlimit(2), RLIMIT_DATA and RLIMIT_AS.
  package static var bytes: Int {
    let machine = max(0, sysconf(Int32(_SC_PHYS_PAGES))) * max(0, sysconf(Int32(_SC_PAGESIZE)))
    let resources = [RLIMIT_DATA, RLIMIT_AS].compactMap { resource -> Int? in
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
      return Int(clamping: limit.rlim_cur)
    }
    return ([machine] + resources + ControlGroups.ofThisProcess.memoryLimits).min() ?? machine
  }
}

/// The control groups of a process, of both versions.
///
/// Source: cgroups(7), "/proc/pid/cgroup"; proc_pid_mountinfo(5).
struct ControlGroups {
  /// The text of `/proc/PID/cgroup`.
  let groups: String
  /// The text of `/proc/PID/mountinfo`.
  let mounts: String
  let read: (_ path: String) -> String?

  static var ofThisProcess: ControlGroups {
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
    let memberships = groups.split(separator: "\n").map {
      $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    }
    return mounts.split(separator: "\n").compactMap(Mount.init).flatMap { mount -> [Int] in
      let path = memberships.first { $0.count == 3 && mount.holds(controllers: $0[1]) }?[2]
      guard let path else { return [] }
      return mount.folders(of: path).flatMap { folder in
        // "max" stands for none.
        mount.files.compactMap { Int((read("\(folder)/\($0)") ?? "").prefix { !$0.isWhitespace }) }
      }
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

    /// The folders of a group and of the groups around it.
    func folders(of group: Substring) -> [String] {
      let (names, outer) = (group.split(separator: "/"), root.split(separator: "/"))
      // A group outside the mount: what is mounted is all that can be seen.
      let inner = names.starts(with: outer) && !names.contains("..") ? names.dropFirst(outer.count) : []
      return inner.indices.reduce(into: ["\(folder)"]) { $0.append("\($0.last ?? "")/\(inner[$1])") }
    }
  }
}
