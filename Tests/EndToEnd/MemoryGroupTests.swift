import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import WorkerPool

/// A control group of version 2 in which a pool is started, and which is delegated to it.
private final class DelegatedGroup {
  /// The group in which tests make theirs: `.ci/cgroups` names it.
  static let parent = ProcessInfo.processInfo.environment["WORKERPOOL_CGROUP"]

  let folder: String

  init() throws {
    folder = try #require(Self.parent) + "/" + UUID().uuidString
    try #require(mkdir(folder, 0o755) == 0)
  }

  deinit {
    for group in groups + ["workerpool-supervisor"] { rmdir("\(folder)/\(group)") }
    rmdir(folder)
  }

  /// Runs the words that follow in the group. When a pool has begun there, its processes are in the group for pools.
  var prefix: [String] {
    let enter = #"echo $$ >"$0/cgroup.procs" || echo $$ >"$0/workerpool-supervisor/cgroup.procs""#
    return ["/bin/sh", "-c", "{ \(enter); } 2>/dev/null && exec \"$@\"", folder]
  }

  /// The groups in it, but for that of the pools.
  var groups: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix("workerpool-") && $0 != "workerpool-supervisor" }.sorted()
  }

  func text(_ name: String) -> String? { KernelFile.text("\(folder)/\(name)") }

  /// The group of the process, as a name in this one.
  static func name(of pid: Int32) -> String? {
    ProcFile.text(pid, "cgroup")?.split(whereSeparator: \.isNewline).first { $0.hasPrefix("0::") }?
      .split(separator: "/").last.map(String.init)
  }
}

/// Pools in a delegated control group, where the kernel ends what takes too much memory.
@Suite(
  .serialized,
  .enabled(if: DelegatedGroup.parent != nil, "needs a control group that is delegated, as .ci/cgroups has one"))
struct MemoryGroupTests {
  private static let reachedLimit = "was killed by the kernel because it reached its limit of 128 MiB (--memory)"

  private func start(
    _ items: ItemPool, in group: DelegatedGroup, workers: Int = 2, memory: Int = 128, _ options: [String] = []
  ) throws -> RunningPool {
    try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins, workers: workers,
      options: ["--memory", "\(memory)"] + options, behind: group.prefix)
  }

  @Test(.timeLimit(.minutes(20)), arguments: [[], ["--confine"]])
  func aWorkerThatTakesTooMuchIsEndedAndNamedAndOthersGoOn(options: [String]) throws {
    guard options.isEmpty || Confinement.obstacle == nil else { return }
    // Given a worker in the middle of a job
    let group = try DelegatedGroup()
    let items = try ItemPool(items: 2)
    let stop = try StopPoint(items.place)
    let pool = try start(
      items, in: group, options + (options.isEmpty ? [] : ["--confine-write", items.place.url.path]))
    try items.submit("misbehave", items: [items.items[0]], ["--set", "how=wait", "--set", "stop=\(stop.path)"])
    let neighbour = try stop.waitForArrival()
    let name = try #require(DelegatedGroup.name(of: neighbour.pid))
    #expect(group.groups.contains(name) && group.text("\(name)/memory.max") == "\(128 << 20)\n")
    #expect(DelegatedGroup.name(of: pool.pid) == "workerpool-supervisor")
    // When another one takes all that it can get
    try items.submit("misbehave", items: [items.items[1]], ["--set", "how=eat memory"])
    try pool.waitForJobs(1)
    // Then its end is named, its job is done at the next attempt, and its neighbour goes on.
    let story = try pool.command("jobs", "--json").output
    #expect(story.contains(Self.reachedLimit), "\(story)")
    #expect(neighbour.isAlive)
    stop.release()
    try pool.waitForJobs(2)
    #expect(try items.rows() == "3|1|0\n3|1|1")
    try pool.stop()
    // Confined workers have a directory of their own there.
    if options.isEmpty { try items.checkNothingIsLeft(of: pool) }
    #expect(group.groups.isEmpty)
  }

  @Test(.timeLimit(.minutes(20)))
  func whatAWorkerHasStartedCountsAndEndsWithIt() throws {
    // Given a program that starts one that waits, and then takes all that it can get
    let group = try DelegatedGroup()
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let script = try items.place.write(
      "#!/bin/sh\nsetsid sleep 1000 &\necho $! >\(stop.path).arrived\nread go <\(stop.path).go\nexec tail /dev/zero\n",
      to: "eater")
    try #require(chmod(script, 0o755) == 0)
    let commands = try items.place.write(#"{"commands": {"eat": {"path": "\#(script)"}}}"#, to: "queue/exec.json")
    try #require(chmod(commands, 0o600) == 0)
    symlink(Built.path("worker-exec"), items.plugins + "/worker-exec")
    let pool = try start(items, in: group)
    let submitted = try pool.command("submit", "exec", "--set", "command=eat")
    try #require(submitted.code == 0, "\(submitted)")
    let child = try stop.waitForArrival()
    #expect(DelegatedGroup.name(of: child.pid).map(group.groups.contains) == true)
    // When it goes on
    stop.releaseReader()
    // Then all of them end, the job is tried again later, and others run.
    child.waitForEnd()
    try pool.wait { ($0.jobs?["retryable"] ?? 0) + ($0.jobs?["scheduled"] ?? 0) > 0 }
    let story = try pool.command("jobs", "--json").output
    #expect(story.contains(Self.reachedLimit), "\(story)")
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.stop()
    #expect(group.groups.isEmpty)
  }

  /// A job that takes too much each time is dead after as many crashes as its kind may have.
  @Test(.timeLimit(.minutes(20)))
  func aJobThatAlwaysTakesTooMuchIsDead() throws {
    let group = try DelegatedGroup()
    let items = try ItemPool()
    let pool = try start(items, in: group, workers: 1)
    try items.submit("misbehave", "--set", "how=always eat memory")
    try pool.wait { ($0.jobs?["dead"] ?? 0) == 1 }
    let story = try pool.command("jobs", "--json").output
    #expect(story.contains(Self.reachedLimit), "\(story)")
    #expect(try items.rows().hasSuffix("|3"))
    try pool.stop()
    #expect(group.groups.isEmpty)
  }

  @Test(.timeLimit(.minutes(20)))
  func groupsOfAKilledPoolAreRemovedByTheNextOneAndThoseOfAnotherPoolStay() throws {
    // Given two pools in one group, each with a worker in the middle of a job
    let group = try DelegatedGroup()
    let (items, others) = (try ItemPool(), try ItemPool())
    let (stop, otherStop) = (try StopPoint(items.place), try StopPoint(others.place))
    let (pool, other) = (try start(items, in: group), try start(others, in: group))
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    try others.submit("misbehave", "--set", "how=wait", "--set", "stop=\(otherStop.path)")
    let (worker, neighbour) = (try stop.waitForArrival(), try otherStop.waitForArrival())
    let names = try [worker, neighbour].map { try #require(DelegatedGroup.name(of: $0.pid)) }
    let identities = names.map { $0.split(separator: "-").dropLast().joined(separator: "-") }
    #expect(identities[0] != identities[1])
    // When one is killed, and its worker with it
    pool.signal(SIGKILL)
    worker.kill9()
    try pool.kill9()
    #expect(names.allSatisfy(group.groups.contains), "\(group.groups)")
    // And as if it had had many of them: the next one counts from 1 again.
    let last = identities[0] + "-77"
    try #require(mkdir("\(group.folder)/\(last)", 0o755) == 0)
    // Then the next one removes its groups, and no other.
    let next = try start(items, in: group)
    #expect(!group.groups.contains(last), "\(group.groups)")
    #expect(group.groups.contains(names[1]) && neighbour.isAlive)
    try next.waitForJobs(1)
    try next.stop()
    #expect(group.groups.allSatisfy { $0.hasPrefix(identities[1]) }, "\(group.groups)")
    otherStop.release()
    try other.waitForJobs(1)
    try other.stop()
    #expect(group.groups.isEmpty)
  }

  /// A kill by the kernel is not always for the limit of the worker.
  @Test(.timeLimit(.minutes(20)), arguments: [(own: 32, around: 512), (own: 512, around: 32)])
  func aLimitAroundAGroupIsNotTakenForItsOwn(own: Int, around: Int) throws {
    let group = try DelegatedGroup()
    try KernelFile.write("\(around << 20)", to: group.folder + "/memory.max")
    let groups = try MemoryGroups(own: group.folder + "/workerpool-supervisor", pool: "a", limit: own << 20)
    let (worker, processes) = try groups.make()
    var program = Program(path: "/usr/bin/tail", arguments: ["/dev/zero"], environment: [:], parentDeathSignal: 0)
    program.memoryGroup = processes
    let nothing = try Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC), "open")
    let pid = try program.start(output: nothing, errors: nothing)
    var status: Int32 = 0
    #expect(waitpid(pid, &status, 0) == pid)
    let death = worker.cause(of: Death(waitStatus: status))
    #expect(death == (own < around ? .reachedMemoryLimit(own << 20) : .signalled(SIGKILL)))
    groups.leave(worker.folder)
    #expect(group.groups.isEmpty)
  }

  @Test(.timeLimit(.minutes(20)))
  func aPoolWhoseGroupHasOtherProcessesSaysWhyAndHasTheOtherLimit() throws {
    // Given a shell that waits in the same group
    let group = try DelegatedGroup()
    let items = try ItemPool()
    var prefix = group.prefix
    prefix[2] = #"echo $$ >"$0/cgroup.procs"; "$@"; exit $?"#
    let pool = try StartingPool(items, through: prefix, options: ["--memory", "128"])
    let line = try #require(pool.line(with: "RLIMIT_DATA"))
    #expect(line.contains("and not by control groups: write \(group.folder)/cgroup.subtree_control: "), "\(line)")
    try items.submit("misbehave", "--set", "how=eat memory")
    #expect(pool.line(with: "perhaps it reached its limit of 128 MiB, --memory: it had") != nil)
    let pid = try #require(Int32(try String(contentsOfFile: items.queue + "/run/pid", encoding: .utf8)))
    kill(pid, SIGTERM)
    let (code, lines) = pool.end()
    #expect(code == 0 && !lines.contains { $0.contains("RLIMIT_DATA") }, "\(lines)")
    #expect(group.groups.isEmpty)
  }

  /// As a service that has `User=` and `Delegate=memory`.
  @Test(.timeLimit(.minutes(20)), .enabled(if: OtherUser.isThere, "only root can run a pool as another user"))
  func aUserToWhomAGroupIsDelegatedNeedsNoOtherRights() throws {
    let group = try DelegatedGroup()
    for name in ["", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"] {
      try #require(chown(group.folder + name, uid_t(OtherUser.id), gid_t(OtherUser.id)) == 0)
    }
    let items = try ItemPool()
    unlink(items.plugins + "/worker-test")
    _ = try OtherUser.copy("test-worker", to: "plugins/worker-test", in: items.place)
    let program = try OtherUser.copy("workerpool", to: "workerpool", in: items.place)
    try #require(try run("/bin/chown", ["-R", "\(OtherUser.id)", items.place.url.path]).code == 0)
    let process = try StartingPool(
      items, through: group.prefix + OtherUser.command, options: ["--memory", "128"], program: program)
    _ = try #require(process.line(with: "running on"))
    try items.submit("misbehave", "--set", "how=eat memory")
    let line = process.line(with: "reached its limit")
    #expect(line?.contains(Self.reachedLimit) == true, "\(line ?? "")")
    #expect(process.end(SIGTERM).code == 0)
    #expect(group.groups.isEmpty)
  }
}
