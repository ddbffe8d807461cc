import Glibc
import Testing

@testable import LinuxSystem

@Suite struct MemoryLimitTests {
  private static func limits(groups: String, mounts: String, files: [String: String]) -> [Int] {
    ControlGroups(groups: groups, mounts: mounts) { files[$0] }.memoryLimits
  }

  @Test func theLimitOfAServiceAndOfTheSliceAroundItCount() {
    let limits = Self.limits(
      groups: "0::/system.slice/pool.service\n",
      mounts: "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
      files: [
        "/sys/fs/cgroup/system.slice/memory.max": "4000\n", "/sys/fs/cgroup/system.slice/memory.high": "max\n",
        "/sys/fs/cgroup/system.slice/pool.service/memory.max": "max\n",
        "/sys/fs/cgroup/system.slice/pool.service/memory.high": "3000\n",
        "/sys/fs/cgroup/user.slice/memory.max": "1000\n",
      ])
    #expect(limits.sorted() == [3000, 4000])
  }

  @Test func theFirstVersionKeepsMemoryInAHierarchyOfItsOwn() {
    let limits = Self.limits(
      groups: "9:cpu,cpuacct:/other\n4:memory:/jobs/17\n0::/\n",
      mounts: """
        32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
        42 31 0:39 / /tmp rw - tmpfs memory rw
        """,
      files: [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/jobs/17/memory.limit_in_bytes": "5000\n",
        "/sys/fs/cgroup/cpu/other/memory.limit_in_bytes": "1\n",
      ])
    #expect(limits.sorted() == [5000, 9_223_372_036_854_771_712])
  }

  /// With a namespace of control groups, and without one.
  @Test(arguments: [("/", "/"), ("/docker/abc", "/docker/abc"), ("/", "/../neighbour"), ("/docker/abc", "/elsewhere")])
  func aContainersGroupIsTheMountsOwn(_ root: String, _ group: String) {
    let limits = Self.limits(
      groups: "0::\(group)\n", mounts: "31 23 0:27 \(root) /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
      files: ["/sys/fs/cgroup/memory.max": "7000\n"])
    #expect(limits == [7000])
  }

  @Test func aProcessWithoutControlGroupsHasNoLimitOfThem() {
    #expect(Self.limits(groups: "", mounts: "22 1 8:1 / / rw - ext4 /dev/sda1 rw\nnot a line\n", files: [:]) == [])
  }

  @Test(arguments: [
    ("/", "/", "/sys/fs/cgroup"), ("/", "/system.slice/pool.service", "/sys/fs/cgroup/system.slice/pool.service"),
    ("/docker/abc", "/docker/abc", "/sys/fs/cgroup"), ("/docker/abc", "/docker/abc/pool", "/sys/fs/cgroup/pool"),
    ("/", "/../neighbour", nil), ("/docker/abc", "/elsewhere", nil),
  ])
  func theFolderOfTheProcesssGroupIsFound(_ root: String, _ group: String, _ folder: String?) {
    let groups = ControlGroups(
      groups: "4:memory:/old\n0::\(group)\n",
      mounts: """
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
        31 23 0:27 \(root) /sys/fs/cgroup rw - cgroup2 cgroup2 rw
        """
    ) { _ in nil }
    #expect(groups.ownFolder == folder)
  }

  @Test func aLimitOfTheProcessCounts() async {
    #expect(MemoryLimit.bytes > 1 << 20)
    await #expect(processExitsWith: .success) {
      for resource in [RLIMIT_AS, RLIMIT_DATA].map({ __rlimit_resource_t($0.rawValue) }) {
        var limit = rlimit()
        try #require(getrlimit(resource, &limit) == 0)
        limit.rlim_cur = rlim_t(MemoryLimit.bytes / 2)
        try #require(setrlimit(resource, &limit) == 0)
        #expect(MemoryLimit.bytes == Int(limit.rlim_cur))
      }
    }
  }
}
