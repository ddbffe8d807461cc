import Foundation
import TestFiles
import Testing

/// A server may answer commits before they are on its disk (`synchronous_commit = off`), and lose some when it crashes.
@Suite(.enabled(if: PostgreSQLServer.isInstalled && NetworkHosts.tool != nil), .timeLimit(.minutes(20)))
struct DurableIntakeTests {
  @Test func aCrashOfTheServerLosesNoJobWhoseFileIsGone() throws {
    let network = try NetworkHosts(hosts: ["a"], settings: ["synchronous_commit=off", "wal_writer_delay=10s"])
    try network.waitForServer()
    let hosts = try HostPools(at: "\(network.address)&port=5499")
    let pool = try hosts.start("a", workers: 0, at: network.address(of: "a"), behind: network.prefix(of: "a"))
    for number in 0..<20 {
      try hosts.submit(number..<number + 1, to: "a")
      try waitUntil("the file is gone") {
        try ["incoming", "taken"].allSatisfy {
          // Beside the files there is the directory's identity.
          try FileManager.default.contentsOfDirectory(atPath: "\(pool.queue)/\($0)").allSatisfy { $0.hasPrefix(".") }
        }
      }
    }
    try network.killServer()
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob"))") == "20")
    try pool.stop()
  }
}
