import Foundation
import Glibc
import LinuxSystem

/// The control groups (version 2) that limit the memory of a pool's workers, where the pool's own group is delegated to
/// it.
///
///     the delegated group         memory is enabled for the groups in it, so it has no processes of its own
///     ├─ workerpool-supervisor    the pools themselves
///     ├─ workerpool-IDENTITY-1    a worker, and all that it starts
///     └─ workerpool-IDENTITY-2
///
/// Pools may share a delegated group: each has another identity, by which it also knows the groups that an earlier
/// pool on its queue directory has left.
///
/// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, "No Internal Process Constraint", "Delegation" and
/// "Memory Interface Files"; https://systemd.io/CGROUP_DELEGATION/.
final class MemoryGroups {
  /// Why a pool has no such groups.
  struct Unavailable: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  static let supervisorName = "workerpool-supervisor"

  private let delegated: String
  private let prefix: String
  /// Bytes.
  private let limit: Int
  private let directories: GroupDirectories
  private var lastNumber = 0
  /// Groups whose worker is gone, and which may still have processes that it had started. Others are survivors of an
  /// earlier pool.
  private var former: Set<String> = []

  /// Moves this process into a group of its own, and removes what an earlier pool of the same identity has left.
  ///
  /// - Parameter own: the folder of this process's group; nil when it has none that can be seen.
  init(
    own: String?, pool identity: String, limit: Int, directories: GroupDirectories = .kernel
  ) throws(Unavailable) {
    guard let own else { throw Unavailable(description: "the pool has no control group of version 2") }
    let url = URL(fileURLWithPath: own)
    let isMoved = url.lastPathComponent == Self.supervisorName
    delegated = isMoved ? url.deletingLastPathComponent().path : own
    prefix = "workerpool-\(identity)-"
    self.limit = limit
    self.directories = directories
    // The kernel's root group has no such file.
    guard access(delegated + "/cgroup.type", F_OK) == 0 else {
      throw Unavailable(description: "the control group \(delegated) is the first of all, which is delegated to nobody")
    }
    let controllers = KernelFile.text(delegated + "/cgroup.controllers") ?? ""
    guard controllers.split(whereSeparator: \.isWhitespace).contains("memory") else {
      throw Unavailable(description: "the control group \(delegated) does not have the controller of memory")
    }
    for place in ["", "/cgroup.procs", "/cgroup.subtree_control"] where access(delegated + place, W_OK) != 0 {
      let reason = ErrorNumber.text(errno)
      throw Unavailable(
        description: "the control group is not delegated to the pool (Delegate=memory of a unit): "
          + "\(delegated + place): \(reason)")
    }
    if !isMoved { try move() }
    // From now on no process gets into the delegated group. A failure may pass: `make` tries again, and tells it.
    try? enableMemory()
    // Groups that cannot be listed stay until the next start.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: delegated)) ?? []
    former = Set(names.filter { $0.hasPrefix(prefix) }.map { "\(delegated)/\($0)" })
    removeEmpty()
  }

  /// A group for which controllers are enabled has no processes.
  private func move() throws(Unavailable) {
    let folder = "\(delegated)/\(Self.supervisorName)"
    do throws(SystemCallError) {
      guard directories.make(folder) == 0 || errno == EEXIST else { throw SystemCallError("mkdir", path: folder) }
      try KernelFile.write("0", to: folder + "/cgroup.procs")
    } catch {
      throw Unavailable(description: "\(error)")
    }
  }

  private func enableMemory() throws(SystemCallError) {
    try KernelFile.write("+memory", to: delegated + "/cgroup.subtree_control")
  }

  /// Makes a group for a worker that is started next.
  ///
  /// - Returns: also its file `cgroup.procs`, into which the process writes itself.
  func make() throws(SystemCallError) -> (MemoryGroup, Descriptor) {
    // Pools that share the group and start together hinder each other until all have left it.
    try enableMemory()
    var folder: String
    repeat {
      lastNumber += 1
      folder = "\(delegated)/\(prefix)\(lastNumber)"
      if directories.make(folder) == 0 { break }
      // A survivor of an earlier pool is in it.
      guard errno == EEXIST else { throw SystemCallError("mkdir", path: folder) }
    } while true
    do throws(SystemCallError) {
      try KernelFile.write("\(limit)", to: folder + "/memory.max")
      // What a worker has started does not go on without it, and the other way round.
      try KernelFile.write("1", to: folder + "/memory.oom.group")
      let swap = folder + "/memory.swap.max"
      if access(swap, F_OK) == 0 { try KernelFile.write("0", to: swap) }
      let path = folder + "/cgroup.procs"
      let processes = try Descriptor(open(path, O_WRONLY | O_CLOEXEC), "open", path: path)
      return (MemoryGroup(folder: folder, limit: limit), processes)
    } catch {
      leave(folder)
      throw error
    }
  }

  /// The worker of the group is gone.
  func leave(_ folder: String) {
    former.insert(folder)
    removeEmpty()
  }

  /// Removes the groups without workers whose last process is gone.
  func removeEmpty() {
    former = former.filter { directories.remove($0) != 0 && errno != ENOENT }
  }
}

/// Makes and removes the folders of control groups. The kernel fills a new one with its files, and lets one be removed
/// that has them.
struct GroupDirectories {
  /// They return what mkdir(2) and rmdir(2) do.
  let make: (_ path: String) -> Int32
  let remove: (_ path: String) -> Int32

  static var kernel: GroupDirectories { GroupDirectories(make: { mkdir($0, 0o755) }, remove: { rmdir($0) }) }
}
