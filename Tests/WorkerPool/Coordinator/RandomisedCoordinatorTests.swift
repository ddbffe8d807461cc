import Jobs
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

@Suite struct RandomisedCoordinatorTests {
  /// Workers come, run, return, die and lose their answers, in any order; the store answers late and with old news. In
  /// the end every job has been run, and at no time was one in two hands.
  @Test(arguments: 1...40) func everyJobIsRunInTheEndAndIsInOneHandAtATime(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var coordinator = Coordinator()
    coordinator.jobURIs = JobURIs(store: "POOL")
    // Two queues, one of them with a weight, and a few limit keys, of which some have very many jobs.
    let all = (1...300).map { number in
      job(
        number, queue: number % 5 == 0 ? "mail" : "default", priority: number % 3,
        key: number % 2 == 0 ? "key \(number % 4 == 0 ? 0 : number % 7)" : nil, limit: 2)
    }
    coordinator.weights = QueueWeights(["mail": 3])
    coordinator.groups = GroupLimits(queues: QueueLimits(["m*": 4]))
    var unfinished = Dictionary(uniqueKeysWithValues: all.map { (uri(Int($0.key)), $0) })
    var hands: [WorkerID: [ObjectURI]] = [:]
    var begun: [WorkerID: [ObjectURI]] = [:]
    var drained: Set<WorkerID> = []
    var answers: [(query: ReadyQuery, snapshot: [WindowJob])] = []
    var lastWorker = 0

    coordinator.setKinds(["index": KindRules(limit: seed % 3 == 0 ? 7 : nil)])
    func perform(_ effects: [CoordinatorEffect]) {
      for effect in effects {
        switch effect {
        case .send(.run(let uris), let id):
          for uri in uris {
            if let job = unfinished[uri], let key = job.limitKey {
              let others = hands.values.joined().count { unfinished[$0]?.limitKey == key }
              #expect(others < job.limit, "\(key) has too many jobs in hand")
            }
            if unfinished[uri]?.queue == "mail" {
              #expect(hands.values.joined().count { unfinished[$0]?.queue == "mail" } < 4, "mail has too many in hand")
            }
            #expect(!hands.values.joined().contains(uri), "\(uri) is in two hands")
            hands[id, default: []].append(uri)
          }
        case .send(.recall(let count), let id):
          let idle = (hands[id] ?? []).filter { begun[id]?.contains($0) != true }.suffix(count)
          hands[id]?.removeAll { idle.contains($0) }
          if !idle.isEmpty { coordinator.workerSaid(.returned(Array(idle)), id) }
        case .send(.drain, let id): drained.insert(id)
        case .fetchReady(let query):
          let ready = unfinished.values.filter { job in
            query.groups.isSubset(of: job.groups) && query.without.isDisjoint(with: job.groups)
              && query.after.map { $0 < job.position } ?? true
          }
          answers.append((query, ready.sorted { $0.precedes($1) }))
        case .settle(let jobs, _):
          coordinator.settled(jobs)
          coordinator.refetchAll()
        default: break
        }
      }
    }

    var steps = 0
    while !unfinished.isEmpty, steps < 20_000 {
      steps += 1
      coordinator.now += 0.01
      if let deadline = coordinator.nextDeadline, deadline <= coordinator.now { coordinator.deadlinePassed() }
      while true {
        let effects = coordinator.takeEffects()
        if effects.isEmpty { break }
        perform(effects)
      }
      switch Int.random(in: 0..<12, using: &random) {
      case 0 where hands.count < 3:
        lastWorker += 1
        let id = WorkerID(number: lastWorker)
        hands[id] = []
        coordinator.workerCameUp(id, kinds: ["index"])
        coordinator.workerSaid(.credit(Int.random(in: 1...8, using: &random)), id)
      case 1:
        guard Int.random(in: 0..<4, using: &random) == 0, let id = hands.keys.randomElement(using: &random) else {
          break
        }
        // It may have committed what it had begun, and died before it could say so.
        if Bool.random(using: &random) { for uri in begun[id] ?? [] { unfinished[uri] = nil } }
        hands[id] = nil
        begun[id] = nil
        coordinator.workerDied(id, Obituary(pid: 7, death: .signalled(9), cause: .itself, lastLines: []))
      case 2, 3:
        guard !answers.isEmpty else { break }
        let answer = answers.removeFirst()
        coordinator.fetched(
          answer.query, Array(answer.snapshot.prefix(answer.query.limit)),
          isComplete: answer.snapshot.count < answer.query.limit)
      case 4 where Int.random(in: 0..<10, using: &random) == 0: coordinator.refetchAll()
      default:
        guard let id = hands.keys.randomElement(using: &random), let held = hands[id], !held.isEmpty else { break }
        if let running = begun[id], !running.isEmpty {
          for uri in running { unfinished[uri] = nil }
          hands[id]?.removeAll { running.contains($0) }
          begun[id] = []
          coordinator.workerSaid(.done(running), id)
        } else {
          let group = Array(held.prefix(Int.random(in: 1...3, using: &random)))
          begun[id] = group
          coordinator.workerSaid(.begin(group), id)
        }
      }
    }
    #expect(unfinished.isEmpty, "\(unfinished.count) jobs were lost with seed \(seed)")
  }
}
