import Foundation
import Testing

/// A pool that dies when a process of it has begun and is not yet a worker.
@Suite(.serialized) struct DyingParentTests {
  /// The kernel tells a process of its parent's death only if it has asked before. One that asks too late must notice
  /// by itself:
  ///
  ///     pool            its process                             test
  ///     vfork
  ///                     is about to ask, says so
  ///     dies
  ///                                                             lets it go
  ///                     asks, looks for its parent, ends
  @Test(.timeLimit(.minutes(20)))
  func aProcessWhosePoolDiedBeforeItCouldBeToldNeverBecomesAWorker() throws {
    let items = try ItemPool()
    // Plugins are started side by side: this is about one.
    unlink(items.plugins + "/worker-test")
    let stop = try StopPoint(items.place)
    let mark = items.place.path("became-a-worker")
    let plugin = try items.place.write("#!/bin/sh\n: > \(mark)\n", to: "plugins/worker-marker")
    chmod(plugin, 0o755)
    let library = try FaultyPool.library("DyingParent", in: items.place)
    let pool = try StartingPool(items, environment: ["LD_PRELOAD": library, "DYING_PARENT": stop.path])
    let child = try stop.waitForArrival()
    stop.release()
    #expect(pool.end().code == SIGKILL)
    child.waitForEnd()
    #expect(!FileManager.default.fileExists(atPath: mark))
    // Nothing is left that would be in the way of the next one, which does start it.
    let next = try StartingPool(items)
    #expect(next.line(with: "plugin marker") != nil)
    #expect(FileManager.default.fileExists(atPath: mark))
    _ = next.end(SIGTERM)
  }
}
