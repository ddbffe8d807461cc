import CSystem
import Foundation
import Testing
import WorkerPool

/// What a process inherits from the one that starts it: signals that are ignored, limits, a namespace of its own.
@Suite(.serialized) struct InheritedStateTests {
  private func status(_ items: ItemPool) throws -> PoolStatus {
    try #require(try StatusClient(queue: items.queue).request(StatusRequest(.status)).status)
  }

  /// Waits until the jobs of these items are done.
  private func waitForJobs(_ items: ItemPool) throws {
    let observer = try StatusClient(queue: items.queue)
    _ = try observer.request(StatusRequest(.observe))
    while try status(items).jobs?["succeeded"] != items.items.count { _ = try observer.next() }
  }

  private func shell(_ line: String) -> [String] { ["/bin/sh", "-c", "\(line); exec \"$0\" \"$@\""] }

  /// Then the kernel forgets children that die, and nobody can wait for them.
  @Test(.timeLimit(.minutes(20)))
  func aPoolThatIsStartedWithSIGCHLDIgnoredSeesItsWorkersDie() throws {
    let items = try ItemPool(items: 2)
    let pool = try StartingPool(items, through: ["/usr/bin/env", "--ignore-signal=CHLD"])
    #expect(pool.line(with: "is up") != nil)
    let worker = try #require(try status(items).workers.first?.pid)
    kill(worker, SIGKILL)
    #expect(pool.line(with: "was killed by signal 9") != nil)
    #expect(pool.line(with: "is up") != nil)
    try items.submit("add")
    try waitForJobs(items)
    #expect(pool.end(SIGTERM).code == 0)
  }

  @Test(.timeLimit(.minutes(20)))
  func theSoftLimitOfOpenFilesIsRaised() throws {
    let items = try ItemPool()
    let pool = try StartingPool(items, through: shell("ulimit -Sn 64"))
    #expect(pool.line(with: "is up") != nil)
    let limits = try String(contentsOfFile: "/proc/\(pool.process.processIdentifier)/limits", encoding: .utf8)
    let words = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
      .split(separator: " ")
    #expect(words[3] == words[4] && words[3] != "64", "\(words)")
    #expect(pool.end(SIGTERM).code == 0)
  }

  /// Too few for sixteen workers: those that have a connection work, and the log says what the others lack. A worker
  /// has four descriptors, so with one of these limits the workers could use all of them, and none would be left for a
  /// job file.
  @Test(.timeLimit(.minutes(20)), arguments: 93...96)
  func aLimitOfDescriptorsThatIsReachedIsNamedAndThePluginIsNotGivenUp(limit: Int) throws {
    let items = try ItemPool(items: 3)
    let pool = try StartingPool(items, workers: 16, through: shell("ulimit -n \(limit)"))
    #expect(pool.line(with: "is up") != nil)
    let line = pool.line(with: "plugin test cannot be started now")
    let reason = "this process may have \(limit) open; raise the limit (`ulimit -n`, LimitNOFILE= of a systemd unit)"
    #expect(line?.contains(reason) == true, "\(line ?? "")")
    pool.log.drain()
    try items.submit("add")
    try waitUntil("all jobs are done") { try isDone(items) }
    kill(pool.process.processIdentifier, SIGTERM)
    pool.process.waitUntilExit()
    let lines = pool.log.lastLines
    #expect(!lines.contains { $0.contains("given up") || $0.contains("did not say hello within") }, "\(lines)")
    #expect(!lines.contains { $0.contains("cannot be started now") }, "it is said once: \(lines)")
  }

  private func isDone(_ items: ItemPool) throws -> Bool {
    try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE = 3") == String(items.items.count)
  }

  /// Whether this user may make namespaces of process IDs.
  private static let canUnshare: Bool =
    (try? run("/usr/bin/env", ["unshare", "--pid", "--fork", "--mount-proc", "nsenter", "--version"]).code) == 0

  /// As in a container. Another process of it, which the pool has not started, ends and leaves a child behind:
  ///
  ///     pool (1)                     a shell                 its child
  ///                                  starts the child        reads a named pipe
  ///                                  ends
  ///     is the child's parent
  ///                                                          the pipe is closed: ends
  ///     lets go of it
  @Test(.timeLimit(.minutes(20)), .enabled(if: canUnshare, "namespaces of process IDs take privileges"))
  func theFirstProcessOfAContainerLeavesNoZombies() throws {
    let items = try ItemPool()
    let pool = try StartingPool(
      items, through: ["/usr/bin/env", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
    #expect(pool.line(with: "is up") != nil)
    let first = try #require(children(of: pool.process.processIdentifier).first)
    let fifo = items.place.path("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    // It must not hold what the test's program waits for.
    let script = """
      for file in /proc/self/fd/*; do n=${file##*/}; [ $n -gt 2 ] && eval "exec $n>&-"; done
      cat \(fifo) > /dev/null 2>&1 &
      """
    let entered = try run("/usr/bin/env", ["nsenter", "-t", "\(first)", "-p", "bash", "-c", script])
    #expect(entered.code == 0, "\(entered.errors)")
    // It opens the pipe when this end does.
    let end = open(fifo, O_WRONLY | O_CLOEXEC)
    let worker = try #require(try status(items).workers.first?.pid)
    let orphan = try #require(children(of: first).first { command($0) == "cat" }, "\(worker)")
    let pidfd = csystem_pidfd_open(orphan)
    defer { close(pidfd) }
    close(end)
    var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ended, 1, 30_000) == 1)
    // The kernel has told the pool before; these are later turns of its loop.
    for _ in 0..<20 where kill(orphan, 0) == 0 { _ = try status(items) }
    #expect(kill(orphan, 0) != 0, "process \(orphan) is a zombie")
    kill(first, SIGTERM)
    _ = pool.end()
  }

  private func command(_ pid: Int32) -> String {
    ((try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? "").trimmingCharacters(in: .newlines)
  }

  private func children(of pid: Int32) -> [Int32] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return threads.flatMap { thread in
      let text = (try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { Int32($0) }
    }
  }
}
