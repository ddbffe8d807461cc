import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Jobs whose workers leave the row to the pool.
@Suite struct CoordinatorSettlingTests {
  /// A worker that takes one job at a time, and has begun the first of three.
  private func scene() -> (Scene, WorkerID) {
    var scene = Scene()
    scene.coordinator.becameReady((1...3).map { job($0) })
    let worker = scene.worker(credit: 1)
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    _ = scene.effects()
    return (scene, worker)
  }

  private func ends(_ scene: inout Scene) -> [ToldEnd] {
    scene.effects().compactMap { if case .settle(_, .told(let end)) = $0 { end } else { nil } }
  }

  @Test func aWorkerGetsTheNextJobWhenTheRowIsWritten() {
    var (scene, worker) = scene()
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 1), worker)
    let effects = scene.effects()
    #expect(effects.contains { if case .settle([1], .told) = $0 { true } else { false } })
    let ran = effects.contains { if case .send(.run, _) = $0 { true } else { false } }
    #expect(!ran, "the pool has not written the row yet")
    scene.coordinator.settled([1])
    #expect(scene.runs() == [worker: [uri(2)]])
  }

  @Test func anAnswerCountsOnceAndOnlyForTheRunThatItNames() {
    var (scene, worker) = scene()
    let other = scene.worker(credit: 1)
    _ = scene.effects()
    // Another number, another worker's job, a job that nobody has.
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 99), worker)
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 1), other)
    scene.coordinator.workerSaid(.settle(.succeeded, uri(3), run: 1), worker)
    #expect(ends(&scene).isEmpty)
    scene.coordinator.workerSaid(.settle(.failed, uri(1), run: 1), worker)
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 1), worker)
    #expect(ends(&scene).map(\.outcome) == [.failed])
  }

  @Test func aLateAnswerDoesNotSettleTheNextAttempt() {
    var (scene, worker) = scene()
    // When: the job goes back, and comes again to the same worker.
    scene.coordinator.workerSaid(.returned([uri(1)]), worker)
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 1), worker)
    #expect(ends(&scene).isEmpty)
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 2), worker)
    #expect(ends(&scene).map(\.run) == [2])
  }

  @Test func aWorkerThatDiesAfterItsAnswerHasNotCrashedTheJob() {
    var (scene, worker) = scene()
    scene.coordinator.workerSaid(.settle(.succeeded, uri(1), run: 1), worker)
    _ = scene.effects()
    scene.coordinator.workerDied(
      worker, Obituary(pid: 17, death: .signalled(9), cause: .itself, lastLines: []))
    let crashed = scene.effects().contains { if case .settle(_, .crashed) = $0 { true } else { false } }
    #expect(!crashed)
    #expect(scene.coordinator.settling == [1], "and it does not run before its row is written")
  }

  @Test func aCancelledJobThatFailsIsCancelledAndOneThatSucceedsHasSucceeded() {
    for outcome in JobOutcome.allCases {
      var (scene, worker) = scene()
      scene.coordinator.cancel(1)
      scene.coordinator.workerSaid(.settle(outcome, uri(1), run: 1), worker)
      let settlements = scene.effects().compactMap { effect in
        if case .settle(_, let settlement) = effect { settlement } else { nil }
      }
      #expect(settlements.count == 1)
      #expect((settlements.first == .cancelled) == (outcome == .failed))
    }
  }
}

@Suite struct SheetedMessagesTests {
  @Test func whatIsSaidAfterARunWaitsForItsSheets() throws {
    var messages = SheetedMessages()
    let id = WorkerID(number: 1)
    var isKept = messages.keeps(.drain, to: id)
    #expect(!isKept)
    messages.keep(run: [uri(1)], to: id)
    isKept = messages.keeps(.cancel(uri(1)), to: id)
    #expect(isKept)
    messages.keep(run: [uri(2)], to: id)
    isKept = messages.keeps(.drain, to: id)
    #expect(isKept)
    var released = messages.release(id)
    #expect(released?.run == [uri(1)] && released?.then == [.cancel(uri(1))])
    isKept = messages.keeps(.recall(1), to: id)
    #expect(isKept, "the second is not written")
    released = messages.release(id)
    #expect(released?.run == [uri(2)] && released?.then == [.drain, .recall(1)])
    released = messages.release(id)
    #expect(released == nil)
    isKept = messages.keeps(.drain, to: id)
    #expect(!isKept)
  }
}

@Suite struct ToldOutcomeTests {
  @Test func anOutcomeFileIsReadAndAWrongKeyIsNamed() throws {
    let outcome = try ToldOutcome(
      Array(#"{"output": "a", "type": "KeyError", "message": "m", "permanent": true}"#.utf8))
    #expect(outcome.output == "a" && outcome.type == "KeyError" && outcome.message == "m" && outcome.isPermanent)
    #expect(try ToldOutcome(Array("{}".utf8)) == ToldOutcome())
    let error = #expect(throws: (any Error).self) { try ToldOutcome(Array(#"{"outptu": "a"}"#.utf8)) }
    #expect(error.map { "\($0)".contains("output") } == true)
    #expect(throws: (any Error).self) { try ToldOutcome(Array("[]".utf8)) }
  }
}
