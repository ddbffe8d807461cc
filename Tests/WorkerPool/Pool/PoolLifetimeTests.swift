import Foundation
import TestFiles
import Testing

@testable import WorkerPool

@Suite(.ownThreads) struct PoolLifetimeTests {
  /// The parts refer to each other in one direction: no cycle keeps a pool, its sockets and its processes alive.
  @Test func nothingOfAPoolOutlivesIt() throws {
    let parts = try PoolParts()
    var configuration = parts.core.configuration
    configuration.pluginDirectories = []
    configuration.handlesSignals = false
    configuration.log = .silent
    weak var server: PoolServer?
    weak var core: PoolCore?
    weak var loop: EventLoop?
    do {
      let pool = try PoolServer(configuration, source: MemoryJobSource([]))
      (server, core, loop) = (pool, pool.core, pool.core.loop)
      #expect(pool.run() == PoolEnding.nothingCanBeStarted.rawValue)
    }
    #expect(server == nil)
    #expect(core == nil)
    #expect(loop == nil)
  }
}
