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
