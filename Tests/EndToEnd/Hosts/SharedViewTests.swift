import Foundation
import TestFiles
import Testing
import WorkerPool

/// Commands and observers of one host see all pools that share the store.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct SharedViewTests {
  /// An observer that has its reply hears of all that workers of any host save from then on.
  @Test func anObserverHearsWhatWorkersOfAnotherHostSave() throws {
    let hosts = try HostPools()
    let one = try hosts.start("a")
    let other = try hosts.start("b", workers: 0)
    let client = try StatusClient(queue: other.queue)
    #expect(try client.request(StatusRequest(.observe)).ok)
    try hosts.submit(0..<300, to: "b")
    var (saved, ended) = (Set<String>(), Set<String>())
    while saved.count < 300 || ended.count < 300 {
      let told = try client.next(within: Double(TestLimit.seconds))
      let event = try #require(told, "\(saved.count) objects and \(ended.count) jobs were told")
      if let change = event.saved {
        #expect(change.change == "inserted")
        saved.formUnion(change.objects)
      }
      ended.formUnion(event.ended ?? [])
    }
    try hosts.checkEffects(0..<300)
    let model = try StoreReader(store: hosts.store, model: hosts.model)
    #expect(Set(try model.uris(ObjectQuery(entity: "Item"))) == saved)
    try one.stop()
    try other.stop()
  }

  @Test func aStatusShowsThePoolsOfAllHosts() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a"), try hosts.start("b", workers: 0))
    try hosts.submit(0..<1, to: "b", milliseconds: 100_000)
    try one.waitForRunningWorker()
    let worker = try #require(try one.status().workers.first?.pid)
    let seen = try #require(try other.status().others)
    #expect(seen.map(\.pid) == [one.pid] && seen.first?.workers.map(\.pid) == [worker])
    // In the store's row the job is available; the other pool says that it runs.
    let status = try other.status()
    #expect(status.jobs?["running"] == 1 && status.jobs?["available"] == 0, "\(status.jobs ?? [:])")
    #expect(status.backlog?.map(\.state) == ["running"], "\(status.backlog ?? [])")
    #expect(try other.command("status").output.contains("1 of 1 worker busy"))
    #expect(try other.command("workers").output.contains(" \(worker) "))
    #expect(try !other.command("workers", "--local").output.contains(" \(worker) "))
    #expect(try workerpool("status", "--store", hosts.store).errors.contains("keeps no model: name it with --model"))
    let missing = try workerpool("status", "--store", hosts.store + "_missing")
    #expect(missing.code == 1 && !missing.errors.contains("--model"), "\(missing)")
    let job = try "p" + hosts.psql("SELECT _key FROM \(hosts.table("PoolJob"))")
    let jobs = try other.command("jobs")
    #expect(jobs.output.contains("running") && jobs.output.contains(ProcessInfo.processInfo.hostName), "\(jobs.output)")
    #expect(try other.command("jobs", "show", job).output.contains("process \(worker)"))
    #expect(try other.command("delete", job).output.contains("1 run now"))
    // Another host's pool is asked to stop the job, too.
    #expect(try other.command("cancel", job).code == 0)
    try waitUntil("the job is cancelled") {
      try hosts.psql("SELECT state FROM \(hosts.table("PoolJob"))") == "5"
    }
    try one.kill9()
    try other.kill9()
  }

  @Test func stopAllEndsThePoolsOfAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b", "c"].map { try hosts.start($0) }
    // One that has just begun would be told, too, but perhaps not before the others are gone.
    try pools[0].wait { $0.others?.count == 2 }
    let stopped = try pools[0].command("stop", "--all")
    #expect(stopped.code == 0 && stopped.output.contains("2 other pools"), "\(stopped.output)\(stopped.errors)")
    for pool in pools { #expect(pool.waitForExit() == 0) }
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE \"goneAt\" IS NULL") == "0")
  }
}
