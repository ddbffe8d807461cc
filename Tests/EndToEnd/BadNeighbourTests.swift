import Foundation
import Testing
import WorkerProtocol

@testable import Jobs
@testable import WorkerPool

/// Wrong things from every side, while the pool works.
@Suite(.serialized) struct BadNeighbourTests {
  @Test(.timeLimit(.minutes(20)))
  func wrongFilesAndConnectionsStopNobody() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let incoming = items.queue + "/incoming"
    var bad: Set<String> = []

    // Files that are no regular files, or not this user's, or too large, or not UTF-8.
    try items.place.write(#"{"kind": "add"}"#, to: "elsewhere.json")
    symlink(items.place.path("elsewhere.json"), incoming + "/link.json")
    mkfifo(incoming + "/pipe.json", 0o600)
    mkdir(incoming + "/directory.json", 0o700)
    bad.formUnion(["link.json", "pipe.json", "directory.json"])
    try put("large.json", into: incoming, &bad) { descriptor in ftruncate(descriptor, off_t(JobFile.maximumSize + 1)) }
    try put("latin1.json", into: incoming, &bad) { descriptor in
      let bytes: [UInt8] = Array(#"{"kind": "caf"#.utf8) + [0xE9] + Array(#""}"#.utf8)
      return Int32(write(descriptor, bytes, bytes.count))
    }
    if geteuid() == 0 {
      try put("foreign.json", into: incoming, &bad) { descriptor in
        let bytes = Array(#"{"kind": "add"}"#.utf8)
        _ = write(descriptor, bytes, bytes.count)
        return fchown(descriptor, 65_534, 65_534)
      }
    }

    // Connections that talk nonsense to the socket, say nothing, or go away.
    let run = QueueLayout(root: items.queue)
    var open: [Int32] = []
    for number in 0..<300 {
      let descriptor = try UnixSocket.connect(to: run.statusSocket)
      open.append(descriptor)
      let bytes: [UInt8] =
        switch number % 6 {
        case 0, 1: (0..<200).map { _ in .random(in: 0...255) } + [0x0A]
        case 2: Array("HELLO 2 test\n".utf8)
        case 3: Array("{\"command\":\"scale\",\"count\":100000}\n".utf8)
        case 4: Array(repeating: 0x41, count: 70_000)
        default: []
        }
      _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      if number % 3 == 0 { close(open.removeLast()) }
    }

    try items.submit("add")
    try pool.waitForJobs(1)
    // What is not announced by a rename is found by the next look at the whole directory.
    try pool.wait { $0.rejectedFiles == bad.count }
    for descriptor in open { close(descriptor) }
    let rejected = Set(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/rejected"))
    #expect(rejected == bad.union(bad.map { $0 + ".error" }))
    #expect(try pool.status().restarts == 0)
    #expect(try pool.status().workerCount == 1)
    try FileManager.default.removeItem(atPath: items.queue + "/rejected")
    try FileManager.default.createDirectory(atPath: items.queue + "/rejected", withIntermediateDirectories: true)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// Makes a file elsewhere and renames it into the directory.
  private func put(
    _ name: String, into directory: String, _ names: inout Set<String>, _ body: (Int32) -> Int32
  ) throws {
    let temporary = directory + "/." + name
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    #expect(body(descriptor) >= 0)
    close(descriptor)
    try #require(rename(temporary, directory + "/" + name) == 0)
    names.insert(name)
  }

  /// A plugin that describes itself and offers the kinds of a good one, and whose processes never say hello.
  @Test(.timeLimit(.minutes(20))) func aJobThatAnotherPluginCanRunDoesNotWaitForOneThatHangsAtItsStart() throws {
    let items = try ItemPool()
    let pid = items.place.path("started")
    let script = """
      #!/bin/sh
      if [ "$1" = describe ]; then "${0%/*}"/worker-test describe | sed 's/"name":"test"/"name":"zombie"/'; exit; fi
      echo started >> '\(pid)'
      sleep 1000
      """
    try items.place.write(script, to: "plugins/worker-zombie", mode: 0o755)
    let pool = try items.start()
    try pool.wait { status in status.plugins.count == 2 && status.workers.contains { $0.phase == "up" } }
    let first = try #require(try pool.status().workers.first)
    try #require(first.plugin == "test")
    // It has had its turn, so that a plugin without a process would get its slot.
    try pool.wait { ($0.workers.first?.age ?? 0) > 4 }
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try pool.status().workers.map(\.id) == [first.id])
    #expect(access(pid, F_OK) != 0, "the one that hangs was started")
    try pool.stop()
  }
}
