import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Rates in a store that pools share: each claim brings a place of the rate with it, and a job begins in it once.
@Suite struct CoordinatorSharedRateTests {
  /// How jobs that have begun come back without an end.
  enum Interruption: CaseIterable {
    /// The pool asks the worker to stop, and the worker gives them back.
    case returned
    /// The pool has ended the worker.
    case stopped
    /// The worker crashes, and one of two jobs is to blame.
    case crashed
  }

  private static func makeScene(rate: JobRate?) -> Scene {
    var scene = Scene(rate: rate)
    scene.coordinator.hands.beginTimeout = .infinity
    scene.coordinator.claims = Claims()
    scene.coordinator.workersWanted(2)
    while scene.queries().first != nil { scene.fetched("index", []) }
    _ = scene.effects()
    return scene
  }

  /// Two of three claimed jobs begin, and are interrupted.
  private static func interrupt(_ scene: inout Scene, _ interruption: Interruption) -> WorkerID {
    scene.coordinator.becameReady((1...3).map { job($0) })
    let worker = scene.worker(credit: 3)
    #expect(scene.runs() == [worker: [uri(1), uri(2), uri(3)]])
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    _ = scene.effects()
    switch interruption {
    case .returned:
      scene.coordinator.drain(worker)
      scene.coordinator.workerSaid(.returned([uri(1), uri(2), uri(3)]), worker)
    case .stopped: scene.coordinator.workerDied(worker, obituary(.stopped))
    case .crashed: scene.coordinator.workerDied(worker, obituary(.itself))
    }
    return worker
  }

  /// Whether the pool gives back what it has claimed, all but some jobs; nil if it does not.
  private static func kept(_ effects: [CoordinatorEffect]) -> [JobKey]? {
    effects.compactMap { effect -> [JobKey]? in
      if case .releaseClaims(["index"], let kept) = effect { kept } else { nil }
    }.last
  }

  /// The place of their claim is used, and other pools may have the next ones:
  ///
  ///     pool                           store
  ///     two claimed jobs begin
  ///     their worker is interrupted
  ///     gives the claims back
  ///                                    has no place
  ///     no worker gets the jobs
  ///                                    has places: the pool claims the jobs
  ///     the jobs are handed out
  @Test(arguments: Interruption.allCases)
  func jobsThatBegunAreClaimedAgainBeforeTheyBeginAgain(interruption: Interruption) throws {
    var scene = Self.makeScene(rate: JobRate(jobs: 10, period: 10))
    _ = Self.interrupt(&scene, interruption)
    #expect(try #require(Self.kept(scene.effects())).isEmpty, "the claims are given back")
    let worker = scene.worker(credit: 3)
    #expect(scene.runs() == [:])
    scene.fetched("index", [])
    #expect(scene.runs() == [:], "the store has no place")
    scene.refetch()
    scene.fetched("index", [job(1), job(2)])
    guard interruption == .crashed else {
      #expect(scene.runs() == [worker: [uri(1), uri(2)]])
      return
    }
    // One of them may crash it again.
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.end([uri(1)], worker)
    #expect(scene.runs() == [worker: [uri(2)]])
  }

  /// An answer of the store that was under way lists jobs whose claims have been given back since.
  @Test(arguments: Interruption.allCases)
  func anAnswerOfBeforeBringsNoJobBack(interruption: Interruption) throws {
    var scene = Self.makeScene(rate: JobRate(jobs: 10, period: 10))
    scene.refetch()
    let query = try #require(scene.queries().first)
    _ = Self.interrupt(&scene, interruption)
    _ = scene.effects()
    _ = scene.worker(credit: 3)
    scene.coordinator.fetched(query, [job(1), job(2), job(3)], isComplete: true)
    #expect(scene.runs() == [:])
  }

  /// Their claims stay, since no place belongs to them.
  @Test(arguments: Interruption.allCases)
  func jobsWithoutARateBeginAgainAtOnce(interruption: Interruption) {
    var scene = Self.makeScene(rate: nil)
    _ = Self.interrupt(&scene, interruption)
    #expect(Self.kept(scene.effects()) == nil)
    let worker = scene.worker(credit: 3)
    #expect(scene.runs() == [worker: interruption == .crashed ? [uri(1)] : [uri(1), uri(2), uri(3)]])
  }
}
