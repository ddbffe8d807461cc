import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// What confined workers may do: use the store, its model, the queue's directory of new jobs and the system's programs
/// and libraries, and what their plugin declares in `describe`. Nothing else of the queue directory is theirs: its logs
/// and the ledger tell of other jobs.
struct WorkerConfinement: Equatable, Sendable {
  /// Files that a worker reads and writes, and directories in which it does.
  let writable: [String]
  /// What it reads beside the system's files.
  let readable: [String]
  /// What the operator allows to all workers, beside what plugins declare.
  let extra: PluginDescription.Needs

  /// The bounds of a plugin's processes. `describe` runs without needs: its answer tells them.
  func bounds(of path: String, needs: PluginDescription.Needs?) -> Confinement {
    var confinement = Confinement()
    for place in Self.system + readable + Self.librariesOfThisProcess { confinement.allow(.read, place) }
    for device in Self.devices { confinement.allow([.read, .write], device) }
    for place in writable { confinement.allow([.read, .write], place) }
    let program = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    for file in Self.companions(of: program) { confinement.allow(.read, file) }
    for file in [program] + Self.interpreters(of: program) {
      confinement.allow([.read, .execute], file)
    }
    for needs in [extra, needs].compactMap(\.self) {
      for place in needs.read ?? [] { confinement.allow(.read, place) }
      for place in needs.write ?? [] { confinement.allow([.read, .write], place) }
      for place in needs.execute ?? [] { confinement.allow([.read, .execute], place) }
      if needs.write?.isEmpty == false { confinement.changesFiles = true }
      if needs.network == true { confinement.allowsNetwork = true }
    }
    return confinement
  }

  /// What programs read everywhere: libraries, time zones, names. Of /etc only files without secrets.
  private static let system =
    [
      "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys/devices/system",
      "/sys/fs/cgroup",
    ]
    + [
      "alternatives", "ca-certificates", "debian_version", "group", "host.conf", "hosts",
      "ld.so.cache", "ld.so.conf",
      "ld.so.conf.d", "ld.so.preload", "locale.alias", "localtime", "mime.types", "nsswitch.conf",
      "os-release",
      "passwd", "protocols", "python3", "resolv.conf", "services", "ssl/certs", "ssl/openssl.cnf",
      "timezone",
    ].map { "/etc/" + $0 }

  private static let devices = ["null", "zero", "full", "random", "urandom"].map { "/dev/" + $0 }

  /// The files from which this process has loaded code, and the libraries beside them: a toolchain's libraries lie
  /// anywhere.
  private static let librariesOfThisProcess: [String] = {
    let maps = KernelFile.text("/proc/self/maps") ?? ""
    let files = maps.split(separator: "\n").compactMap { line -> String? in
      guard let start = line.firstIndex(of: "/"), line.contains("r-x") else { return nil }
      return String(line[start...])
    }
    let directories = Set(files.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path })
    return Array(Set(files).union(directories.flatMap { entries(of: $0, where: isLibrary) }))
  }()

  /// What a program may read of the directory in which it lies: libraries, the bundles of resources that Swift programs
  /// have there, and what is called as it is, such as `worker-index.conf` beside `worker-index`. Others' files may lie
  /// there, too.
  private static func companions(of program: String) -> [String] {
    let program = URL(fileURLWithPath: program)
    let prefix = program.lastPathComponent + "."
    return entries(of: program.deletingLastPathComponent().path) {
      isLibrary($0) || $0.hasSuffix(".resources") || $0.hasPrefix(prefix)
    }
  }

  private static func isLibrary(_ name: String) -> Bool { name.hasSuffix(".so") || name.contains(".so.") }

  private static func entries(of directory: String, where isWanted: (String) -> Bool) -> [String] {
    // A directory that cannot be read has nothing that a worker could read.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.filter(isWanted).map { directory + "/" + $0 }
  }

  /// Why confined workers cannot have plugins of a directory, if they cannot: what lies in a user's home beside them is
  /// not for them.
  static func obstacle(toPluginsIn directory: String) -> String? {
    let path = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    let listed = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_dir) }
    let candidates = [ProcessInfo.processInfo.environment["HOME"], listed, "/root"]
    let homes = candidates.compactMap(\.self).map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
    let isOthers = URL(fileURLWithPath: path).deletingLastPathComponent().path == "/home"
    guard path == "/" || homes.contains(path) || isOthers else { return nil }
    let what = path == "/" ? "the root of all files" : "a user's home"
    return "\(directory), which holds the plugins, is \(what); put them into a directory of their own"
  }

  /// The programs that the kernel starts for a file: the dynamic loader, and for a script its interpreter, with the one
  /// that env(1) finds.
  private static func interpreters(of path: String) -> [String] {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
    // A file that cannot be read names no interpreter. Starting it gives the error.
    guard let file = FileHandle(forReadingAtPath: path), let head = try? file.read(upToCount: 256)
    else { return loaders }
    let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    guard line.hasPrefix("#!") else { return loaders }
    let words = line.dropFirst(2).split(separator: " ").map(String.init)
    guard let first = words.first else { return loaders }
    var programs = [first]
    if first.hasSuffix("/env"), let name = words.dropFirst().first(where: { !$0.hasPrefix("-") }) {
      programs += (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(
        separator: ":"
      )
      .map { "\($0)/\(name)" }
    }
    return loaders + programs
  }
}
