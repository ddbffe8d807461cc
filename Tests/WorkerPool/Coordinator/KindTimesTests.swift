import Glibc
import LinuxSystem
import PoolClient
import Testing
import WorkerProtocol

@testable import WorkerPool

/// What the coordinator counts for each kind.
@Suite struct KindTimesTests {
  private func ready(_ number: Int, _ kind: String, at time: Double?) -> WindowJob {
    var job = job(number, kind: kind)
    job.readyAt = time
    return job
  }

  @Test func eachAttemptCountsWithItsTimesAndItsOutcome() {
    // Given jobs of two kinds, in the hands of workers
    var scene = Scene(kinds: ["index": nil, "mail": nil])
    scene.coordinator.becameReady([ready(1, "index", at: 100), ready(2, "index", at: 170), ready(3, "mail", at: nil)])
    let first = scene.worker(credit: 2)
    let second = scene.worker(credit: 1, kinds: ["mail"])
    _ = scene.runs()
    // When they begin, one after a minute and one after 30 s of running the other
    scene.coordinator.statistics.wallClock = 160
    scene.coordinator.workerSaid(.begin([uri(1)]), first)
    scene.coordinator.workerSaid(.begin([uri(3)]), second)
    scene.coordinator.now += 30
    scene.coordinator.workerSaid(.done([uri(1)]), first)
    scene.coordinator.statistics.wallClock = 190
    scene.coordinator.workerSaid(.begin([uri(2)]), first)
    scene.coordinator.now += 2
    scene.coordinator.workerSaid(.failed(uri(2)), first)
    scene.coordinator.workerDied(second, obituary())
    // Then each is in its kind
    let index = scene.coordinator.statistics.kinds["index"]
    #expect(index?.waiting.sum == 80 && index?.waiting.counts.reduce(0, +) == 2)
    #expect(index?.running.sum == 32 && index?.running.counts.reduce(0, +) == 2)
    #expect(index?.counters.done == 1 && index?.counters.failed == 1 && index?.counters.crashed == 0)
    let mail = scene.coordinator.statistics.kinds["mail"]
    #expect(mail?.waiting.counts.reduce(0, +) == 0, "nobody knows since when it could begin")
    #expect(mail?.running.sum == 32 && mail?.counters.crashed == 1)
  }

  @Test func whatJobsUseIsAddedUpByKind() {
    var statistics = JobStatistics()
    var use = ResourceUse()
    use.processorTime = 4
    (use.peakMemory, use.bytesRead, use.bytesWritten) = (100, 10, nil)
    statistics.noteUse(use.share(0.25), of: "index")
    statistics.noteUse(use.share(0.5), of: "index")
    let sum = statistics.kinds["index"]?.use
    #expect(sum?.processorTime == 3 && sum?.peakMemory == 100 && sum?.bytesRead == 7 && sum?.bytesWritten == nil)
    #expect(statistics.kinds["mail"] == nil)
  }

  @Test func aProcessHasUsedWhatItsCountersHaveGrownBy() throws {
    var start = ProcessResources(of: rusage())
    var end = start
    (start.processorSeconds, start.bytesRead, start.bytesWritten) = (1, 100, 7)
    (end.processorSeconds, end.bytesRead, end.bytesWritten) = (1.5, 300, nil)
    let use = ResourceUse(from: start, to: end, peak: 9)
    #expect(use.processorTime == 0.5 && use.bytesRead == 200 && use.bytesWritten == nil && use.peakMemory == 9)
  }

  @Test func jobsThatComeBackUnbegunAreNoAttempts() {
    var scene = Scene()
    scene.coordinator.becameReady([ready(1, "index", at: 100)])
    let worker = scene.worker(credit: 1)
    _ = scene.runs()
    scene.coordinator.statistics.wallClock = 160
    scene.coordinator.workerSaid(.returned([uri(1)]), worker)
    scene.coordinator.workerDied(worker, obituary(.stopped))
    #expect(scene.coordinator.statistics.kinds.isEmpty)
  }
}
