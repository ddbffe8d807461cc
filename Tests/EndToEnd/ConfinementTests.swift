import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing

/// Workers that the kernel confines, and what they try.
///
/// Skipped where the kernel has no Landlock: there the pool says so, which the last test checks.
@Suite(.serialized) struct ConfinementTests {
  /// What a worker was let do, by a name: 0, or the error number.
  private func attempts(_ options: [String], outside: TestPlace) throws -> [String: Int32] {
    let items = try ItemPool()
    try outside.write("secret", to: "secret")
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listens = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 1) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    try #require(listens)
    // And an abstract socket at which another process listens
    let name = "trespass-\(UUID().uuidString)"
    let stranger = try AbstractListener(name)
    defer { stranger.close() }
    // Another worker, which is no more this one's than the pool is.
    let pool = try items.start(workers: 2, options: options)
    try items.submit(
      "trespass", "--set", "outside=\(outside.url.path)", "--set",
      "port=\(UInt16(bigEndian: address.sin_port))", "--set", "socket=\(name)")
    try pool.waitForJobs(1)
    try pool.stop()
    // The job's own work is saved, confined or not.
    #expect(try sqlite(items.store, "SELECT ZVALUE FROM ZITEM") == "1")
    let text = try sqlite(items.store, "SELECT ZOUTPUT FROM WPPOOLJOB")
    return Dictionary(
      uniqueKeysWithValues: text.split(separator: "\n").compactMap { line in
        let parts = line.components(separatedBy: ": ")
        return Int32(parts.last ?? "").map { (parts[0], $0) }
      })
  }

  private static let attempts = 14 + 71
  /// What every worker of a pool is refused.
  private static let refusedToAll: Set = [
    "type into a terminal", "gain privileges by a program", "have a descriptor of the pool",
  ]
  private static let allowed: Set = [
    "start what is declared", "submit a job", "write a temporary file", "write a temporary file whole",
  ]

  @Test(
    .timeLimit(.minutes(20)),
    .enabled(if: Confinement.obstacle == nil, "this kernel has no Landlock"))
  func aConfinedWorkerCanDoNothingThatItsPluginDoesNotDeclare() throws {
    let done = try attempts(["--confine"], outside: try TestPlace())
    #expect(done.count == Self.attempts)
    for (what, error) in done {
      if Self.allowed.contains(what) {
        #expect(error == 0, "\(what)")
      } else {
        // A link or a move out of what is allowed counts as one to another file system (landlock(7)).
        #expect([EACCES, EPERM, EXDEV].contains(error), "\(what): \(error)")
      }
    }
  }

  /// Otherwise the test above could pass because the attempts fail anyway.
  @Test(
    .timeLimit(.minutes(20)), .enabled(if: geteuid() == 0, "needs root, who may read the passwords")
  )
  func aWorkerThatIsNotConfinedIsLetDoAllOfIt() throws {
    let done = try attempts([], outside: try TestPlace())
    #expect(done.count == Self.attempts)
    let refused = done.filter { $0.value != 0 && !Self.refusedToAll.contains($0.key) }
    #expect(refused.isEmpty)
  }

  @Test(
    .timeLimit(.minutes(20)),
    .enabled(if: Confinement.obstacle == nil, "this kernel has no Landlock"))
  func theOperatorCanAllowMore() throws {
    let outside = try TestPlace()
    let reading = try attempts(["--confine", "--confine-read", outside.url.path], outside: outside)
    #expect(reading["read a file outside"] == 0 && reading["write a file outside"] == EACCES)
    let writing = try attempts(
      ["--confine", "--confine-write", outside.url.path], outside: outside)
    #expect(writing["read a file outside"] == 0 && writing["write a file outside"] == 0)
    #expect(writing["read the passwords"] == EACCES)
    // Who writes files sets their modes and times.
    for what in ["mode", "owner", "times"] {
      #expect(writing["change the \(what) of a file that it reads"] == 0, "\(what)")
      #expect(reading["change the \(what) of a file that it reads"] == EPERM, "\(what)")
    }
    #expect(writing["change the times of a file by its path"] == EPERM)
  }

  /// Who may not steer this pool might have steered any other of the same user.
  @Test(
    .timeLimit(.minutes(20)),
    .enabled(if: Confinement.obstacle == nil, "this kernel has no Landlock"))
  func aConfinedProgramReachesNoPoolOfTheSameUser() throws {
    let (other, items) = (try ItemPool(), try ItemPool())
    let stranger = try other.start()
    symlink(Built.path("worker-exec"), items.plugins + "/worker-exec")
    let pool = try items.start(options: ["--confine"])
    for queue in [other.queue, items.queue] {
      let command: [String: Any] = ["path": Built.path("workerpool"), "arguments": ["pause", "--queue", queue]]
      let text = try JSONSerialization.data(withJSONObject: ["commands": ["pause": command]])
      try text.write(to: URL(fileURLWithPath: items.queue + "/exec.json"))
      chmod(items.queue + "/exec.json", 0o600)
      let job = try workerpool(
        "submit", "--queue", items.queue, "exec", "--set", "command=pause", "--max-attempts", "1", "--wait")
      #expect(job.code != 0 && job.output.contains("dead"), "\(job)")
      #expect(job.output.contains("is closed to user"), "\(job)")
    }
    #expect(try !stranger.status().isPaused && !pool.status().isPaused)
    try pool.stop()
    try stranger.stop()
  }

  @Test func pluginsInAHomeAreNotConfined() throws {
    guard Confinement.obstacle == nil else { return }
    let items = try ItemPool()
    for (directory, what) in [("/", "the root of all files"), (NSHomeDirectory(), "a user's home")] {
      let finished = try workerpool(
        "run", "--store", items.store, "--model", items.model, "--queue", items.queue, "--plugins", directory,
        "--confine")
      #expect(finished.code == 1 && finished.errors.contains("\(directory), which holds the plugins, is \(what)"))
    }
  }

  @Test func whatTheKernelCannotDoIsSaid() throws {
    let finished = try workerpool("run", "--store", "a", "--model", "b", "--confine-read", "/tmp")
    #expect(
      finished.code == 2 && finished.errors.contains("--confine-read goes with --confine"),
      "\(finished)")
    guard let obstacle = Confinement.obstacle else { return }
    let items = try ItemPool()
    let refused = try workerpool("run", "--store", items.store, "--model", items.model, "--confine")
    #expect(
      refused.code == 1 && refused.errors.contains("workers cannot be confined: \(obstacle)"),
      "\(refused)")
  }
}

/// A listening socket with a name that no file has.
private struct AbstractListener {
  private let descriptor: Int32

  init(_ name: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The first byte of an abstract name is zero (unix(7)).
    withUnsafeMutableBytes(of: &address.sun_path) { $0[1...].copyBytes(from: name.utf8) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
    let listens = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
    }
    try #require(listens && listen(descriptor, 4) == 0)
  }

  func close() { Glibc.close(descriptor) }
}
