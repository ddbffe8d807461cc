import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing

@testable import WorkerPool

/// Groups in a directory that stands for a delegated one; `MemoryGroupTests` has the kernel's own.
@Suite struct MemoryGroupFilesTests {
  /// A directory that is filled with files as the kernel would do it.
  private final class Place {
    let url = temporaryURL("groups")
    var own: String { url.path + "/pool.service" }
    /// What rmdir(2) says of a group that has processes.
    var occupied: Set<String> = []

    init(controllers: String = "cpu memory pids\n") throws {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try #require(Self.fill(own) == 0)
      try write(controllers, "cgroup.controllers")
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    private static let files = [
      "cgroup.type", "cgroup.procs", "cgroup.subtree_control", "memory.max", "memory.oom.group", "memory.swap.max",
      "memory.events",
    ]

    private static func fill(_ path: String) -> Int32 {
      guard mkdir(path, 0o755) == 0 else { return -1 }
      let isFilled = files.allSatisfy { FileManager.default.createFile(atPath: "\(path)/\($0)", contents: nil) }
      return isFilled ? 0 : -1
    }

    var directories: GroupDirectories {
      GroupDirectories(
        make: Self.fill,
        remove: { [self] path in
          if occupied.contains(URL(fileURLWithPath: path).lastPathComponent) {
            errno = EBUSY
            return -1
          }
          return (try? FileManager.default.removeItem(atPath: path)) == nil ? -1 : 0
        })
    }

    func write(_ text: String, _ name: String) throws {
      try text.write(toFile: "\(own)/\(name)", atomically: false, encoding: .utf8)
    }

    func text(_ name: String) -> String? { try? String(contentsOfFile: "\(own)/\(name)", encoding: .utf8) }

    /// The groups in the delegated one.
    var groups: [String] {
      get throws {
        try FileManager.default.contentsOfDirectory(atPath: own).filter { $0.hasPrefix("workerpool-") }.sorted()
      }
    }

    func makeGroups(of pool: String = "a", from own: String? = nil, limit: Int = 64 << 20) throws -> MemoryGroups {
      try MemoryGroups(own: own ?? self.own, pool: pool, limit: limit, directories: directories)
    }
  }

  @Test func thePoolMovesAndAWorkerGetsAGroupWithItsLimit() throws {
    let place = try Place()
    let groups = try place.makeGroups()
    // "0" is the process that writes it.
    #expect(place.text("workerpool-supervisor/cgroup.procs") == "0")
    let (group, processes) = try groups.make()
    #expect(place.text("cgroup.subtree_control") == "+memory")
    #expect(group.folder == place.own + "/workerpool-a-1")
    #expect(place.text("workerpool-a-1/memory.max") == "\(64 << 20)")
    #expect(place.text("workerpool-a-1/memory.oom.group") == "1")
    #expect(place.text("workerpool-a-1/memory.swap.max") == "0")
    #expect(write(processes.number, "0", 1) == 1 && place.text("workerpool-a-1/cgroup.procs") == "0")
    groups.leave(group.folder)
    #expect(try place.groups == ["workerpool-supervisor"])
  }

  /// A pool that is restarted, or started in the group of an earlier pool, is already in the group for supervisors.
  @Test func aPoolThatIsInTheGroupForPoolsStaysThere() throws {
    let place = try Place()
    _ = try place.makeGroups()
    try place.write("", "workerpool-supervisor/cgroup.procs")
    let groups = try place.makeGroups(from: place.own + "/workerpool-supervisor")
    #expect(place.text("workerpool-supervisor/cgroup.procs") == "")
    #expect(try groups.make().0.folder == place.own + "/workerpool-a-1")
  }

  @Test func aGroupWithProcessesIsRemovedWhenTheyAreGone() throws {
    let place = try Place()
    let groups = try place.makeGroups()
    let (first, _) = try groups.make()
    let (second, _) = try groups.make()
    place.occupied = ["workerpool-a-1"]
    groups.leave(first.folder)
    #expect(try place.groups.contains("workerpool-a-1"))
    place.occupied = []
    groups.leave(second.folder)
    #expect(try place.groups == ["workerpool-supervisor"])
  }

  /// Nothing of another pool in the same group is touched.
  @Test func whatAnEarlierPoolHasLeftIsRemovedAndItsSurvivorsAreNotDisturbed() throws {
    let place = try Place()
    do {
      let (earlier, other) = (try place.makeGroups(), try place.makeGroups(of: "b"))
      for groups in [earlier, earlier, other] { _ = try groups.make() }
    }
    place.occupied = ["workerpool-a-1"]
    let groups = try place.makeGroups()
    #expect(try place.groups == ["workerpool-a-1", "workerpool-b-1", "workerpool-supervisor"])
    // Nor does a worker get into the group of a survivor.
    let (group, _) = try groups.make()
    #expect(group.folder == place.own + "/workerpool-a-2")
    place.occupied = []
    groups.removeEmpty()
    #expect(try place.groups == ["workerpool-a-2", "workerpool-b-1", "workerpool-supervisor"])
  }

  @Test func aGroupThatCannotBeUsedIsNamedAndNothingIsMadeThere() throws {
    func obstacle(_ place: Place, from own: String?) -> String? {
      do {
        _ = try MemoryGroups(own: own, pool: "a", limit: 1, directories: place.directories)
        return nil
      } catch {
        return "\(error)"
      }
    }
    let place = try Place()
    #expect(obstacle(place, from: nil) == "the pool has no control group of version 2")
    // The first group of all: /sys/fs/cgroup itself
    #expect(obstacle(place, from: place.url.path)?.contains("is the first of all") == true)
    let withoutMemory = try Place(controllers: "cpuset cpu\n")
    #expect(
      obstacle(withoutMemory, from: withoutMemory.own)?.contains("does not have the controller of memory") == true)
    unlink(withoutMemory.own + "/cgroup.controllers")
    #expect(
      obstacle(withoutMemory, from: withoutMemory.own)?.contains("does not have the controller of memory") == true)
    unlink(place.own + "/cgroup.subtree_control")
    #expect(
      obstacle(place, from: place.own)
        == "the control group is not delegated to the pool (Delegate=memory of a unit): "
        + "\(place.own)/cgroup.subtree_control: No such file or directory")
    #expect(try place.groups.isEmpty)
  }

  @Test func aGroupThatCannotBeFilledIsRemoved() throws {
    let place = try Place()
    let made = place.directories
    let withoutMemory = GroupDirectories(
      make: { path in
        defer { unlink(path + "/memory.max") }
        return made.make(path)
      }, remove: made.remove)
    let groups = try MemoryGroups(own: place.own, pool: "a", limit: 1, directories: withoutMemory)
    let error = #expect(throws: SystemCallError.self) { try groups.make() }
    #expect(error?.path == place.own + "/workerpool-a-1/memory.max" && error?.number == ENOENT)
    #expect(try place.groups == ["workerpool-supervisor"])
  }

  @Test(arguments: [
    ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 1\n", Death.reachedMemoryLimit(64 << 20)),
    // The machine, or a group around this one, had no memory left.
    ("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", .signalled(SIGKILL)),
    ("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n", .signalled(SIGKILL)), ("oom", .signalled(SIGKILL)),
    ("", .signalled(SIGKILL)),
  ])
  func theKernelsCountsSayWhetherTheLimitWasReached(events: String, death: Death) throws {
    let place = try Place()
    let group = MemoryGroup(folder: place.own, limit: 64 << 20)
    try place.write(events, "memory.events")
    #expect(group.cause(of: .signalled(SIGKILL)) == death)
    #expect(group.cause(of: .signalled(SIGABRT)) == .signalled(SIGABRT))
    #expect(group.cause(of: .exited(code: 0)) == .exited(code: 0))
    unlink(place.own + "/memory.events")
    #expect(group.cause(of: .signalled(SIGKILL)) == .signalled(SIGKILL))
  }

  @Test func theDeathIsNamedForCertain() {
    let death = Death.reachedMemoryLimit(64 << 20)
    #expect("\(death)" == "was killed by the kernel because it reached its limit of 64 MiB (--memory)")
    #expect(death.signal == SIGKILL)
    #expect(Obituary(pid: 7, death: death, cause: .itself, lastLines: []).reason == "\(death)")
    // A worker that cannot even start in it counts as a failed start, as one that exits does.
    var life = WorkerLife(helloTimeout: 10)
    _ = life.handle(.started)
    #expect(life.handle(.exited(death)) == [.bury(death, .neverCameUp(nil))])
  }
}
