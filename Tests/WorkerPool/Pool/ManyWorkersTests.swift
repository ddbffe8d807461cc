import Foundation
import Glibc
import Jobs
import LinuxSystem
import PoolClient
import TestFiles
import Testing

@testable import WorkerPool

/// Pools with more workers than a machine has processors by far.
@Suite(.serialized, .ownThreads) struct ManyWorkersTests {
  /// A worker that costs little: a shell.
  private static let script = """
    #!/bin/sh
    if [ "$1" = describe ]; then
      echo '{"name": "shell", "version": "1", "protocolVersions": [2], "kinds": [{"kind": "shell"}]}'
      exit
    fi
    printf 'HELLO 2 shell\\nCREDIT 1\\n' >&3
    while read -r verb job <&3; do
      case $verb in
        RUN) printf 'BEGIN %s\\nDONE %s\\n' "$job" "$job" >&3 ;;
        DRAIN) exit ;;
      esac
    done
    """

  @Test(.timeLimit(.minutes(20))) func threeHundredWorkersStartWorkAndStop() throws {
    let count = 300
    let pool = try PoolHarness(plugins: [], workers: count) { configuration in
      let path = configuration.pluginDirectories[0] + "/worker-shell"
      let isThere = FileManager.default.createFile(
        atPath: path, contents: Data(Self.script.utf8), attributes: [.posixPermissions: 0o755])
      #expect(isThere)
    }
    var slowest = 0.0
    while !pool.log.all.contains(where: { $0.contains("worker \(count),") || $0.contains("is given up") }) {
      let start = Clock.now
      let up = try pool.status().workers.count { $0.phase == "up" }
      slowest = max(slowest, Clock.now - start)
      if up == count { break }
    }
    let log = pool.log.all
    #expect(try pool.status().workers.count { $0.phase == "up" } == count)
    #expect(log.count { $0.contains(" is started as worker ") } == count, "none had to be started again")
    #expect(log.count { $0.contains(" is up") } == count)
    #expect(slowest < 2, "status answers meanwhile")
    // Never more on their way than the pace allows.
    var (arriving, most) = (0, 0)
    for line in log {
      if line.contains(" is started as worker ") { arriving += 1 }
      if line.contains(" is up") { arriving -= 1 }
      most = max(most, arriving)
    }
    #expect(most <= StartPace.room(arriving: 0, arrived: .max))
    pool.source.add((1...3 * count).map { fakeJob("ok", $0, kind: "shell") })
    var done = 0
    while done < 3 * count { done = try pool.status().counters.done }
    #expect(done == 3 * count)
    try pool.end()
  }
}
