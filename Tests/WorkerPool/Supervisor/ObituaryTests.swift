import Testing

@testable import WorkerPool

@Suite struct ObituaryTests {
  private func reason(_ death: Death, peak: Int?, limit: Int?, cause: Obituary.Cause = .itself) -> String {
    var obituary = Obituary(pid: 7, death: death, cause: cause, lastLines: [])
    obituary.fullMemory = Obituary.FullMemory(peak: peak.map { $0 << 20 }, limit: limit.map { $0 << 20 })
    return obituary.reason
  }

  @Test func anEndNearTheMemoryLimitNamesIt() {
    #expect(
      reason(.signalled(6), peak: 250, limit: 256)
        == "was killed by signal 6 (Aborted) (perhaps it reached its limit of 256 MiB, --memory: it had 250 MiB)")
    #expect(reason(.exited(code: 1), peak: 300, limit: 256).contains("its limit of 256 MiB"))
  }

  @Test func anEndForAnotherReasonDoesNot() {
    for (peak, limit) in [(100, 256), (nil, 256), (250, nil)] {
      #expect(reason(.signalled(6), peak: peak, limit: limit) == "was killed by signal 6 (Aborted)")
    }
    let timedOut = reason(.signalled(9), peak: 256, limit: 256, cause: .timedOut)
    #expect(timedOut == "was killed because its job took too long")
  }
}
