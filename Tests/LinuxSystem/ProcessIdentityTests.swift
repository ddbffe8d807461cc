import Foundation
import LinuxSystem
import TestFiles
import Testing

@Suite struct ProcessIdentityTests {
  /// Containers may have a time namespace of their own. What one pool writes of a process, the next one reads.
  @Test(.enabled(if: geteuid() == 0)) func aProcessIsTheSameInAllTimeNamespaces() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    let files = ["/proc/\(getpid())/stat", "/proc/self/timens_offsets"]
    process.arguments = ["--time", "--boottime", "5000", "--fork", "cat"] + files
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    // A kernel without time namespaces.
    guard process.terminationStatus == 0 else { return }
    let lines = text.split(separator: "\n")
    let fields = try #require(lines.first?.split(separator: ")").last?.split(separator: " "))
    let seen = try #require(Int64(fields[19]))
    let identity = try #require(ProcessIdentity(of: getpid()))
    #expect(seen != identity.start)
    let shift = ProcessIdentity.ticks(offsets: lines.dropFirst().joined(separator: "\n"))
    #expect(ProcessIdentity(pid: getpid(), start: seen - shift) == identity)
  }

  @Test(arguments: [
    ("", 0), ("monotonic 7 0\nboottime  -3  500000000\n", -250), ("boottime 5000 0", 500_000), ("boottime x 0", 0),
    ("monotonic 9 9", 0),
  ])
  func theBootClockIsMovedByWholeTicks(offsets: String, ticks: Int64) {
    #expect(ProcessIdentity.ticks(offsets: offsets) == ticks * Int64(sysconf(Int32(_SC_CLK_TCK))) / 100)
  }
}
