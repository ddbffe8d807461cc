import Foundation
import Testing
import WorkerProtocol

@testable import WorkerKit

/// Replays the recorded conversations of `Protocol/Vectors` as the worker: what the coordinator said is put in, what
/// the worker said must come out.
@Suite struct WorkerVectorTests {
  static let vectors: [URL] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Protocol/Vectors")
    let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    // Workers in Swift write the rows of their jobs themselves.
    let others = ["refused", "settled-by-pool"]
    return (files ?? []).filter { file in
      file.pathExtension == "txt" && !others.contains { file.lastPathComponent.hasPrefix($0) }
    }
    .sorted { $0.path < $1.path }
  }()

  @Test(arguments: vectors) func theWorkerSaysWhatTheVectorSays(vector: URL) throws {
    let steps = try Transcript(try String(contentsOf: vector, encoding: .utf8)).steps
    var credit = 1
    for case .worker(let line) in steps {
      if case .credit(let count) = try WorkerMessage(line: line) { credit = count }
    }
    var session = WorkerSession()
    session.open(kinds: ["index"], credit: credit)
    var said: [String] = []
    func listen() {
      said += String(decoding: session.outgoing, as: UTF8.self).split(separator: "\n").map(String.init)
      session.outgoing = []
    }
    listen()

    for step in steps {
      switch step {
      case .coordinator(let line): session.receive(try CoordinatorMessage(line: line))
      case .event(let words) where words[0] == "worker":
        let uris = words.compactMap { ObjectURI($0) }
        switch words[1] {
        case "progress":
          session.say(.progress(uris[0], done: Int(words[3]) ?? 0, total: Int(words[4]) ?? 0))
        case "waits": session.say(.waiting(try #require(StoreWait(rawValue: words[2])), uris))
        case "saves": session.say(.saved(try #require(SavedChange(rawValue: words[2])), uris))
        case "succeeds", "stops": session.end(session.running, .done)
        case "fails": session.end(session.running, .failed)
        default: Issue.record("the vector has an unknown event: \(words)")
        }
      case .event: break
      case .worker(let line):
        #expect(!said.isEmpty, "nothing was said where the vector has: \(line)")
        if !said.isEmpty { #expect(said.removeFirst() == line) }
      }
      if session.running.isEmpty, !session.notBegun.isEmpty { _ = session.begin(limit: 1) }
      listen()
    }
    #expect(said == [], "the worker said more than the vector has")
  }

  @Test func aRefusedWorkerIsOver() throws {
    var session = WorkerSession()
    session.open(kinds: ["index"], credit: 1)
    session.receive(.refused(.version, lowest: 2, highest: 3))
    #expect(session.isOver)
    #expect(session.refusal == .version)
  }

  @Test func jobsThatComeWhileDrainingGoBack() throws {
    let uri = try #require(ObjectURI("x-coredata://POOL/PoolJob/p1"))
    var session = WorkerSession()
    session.receive(.drain)
    session.receive(.run([uri]))
    #expect(String(decoding: session.outgoing, as: UTF8.self) == "RETURNED \(uri)\n")
    #expect(session.isOver)
  }

  /// The pool chooses the best of them all, which may be in the group or behind it.
  @Test func whatWaitsBehindAGroupThatIsGivenBackGoesBackWithIt() throws {
    let jobs = try (1...4).map { try #require(ObjectURI("x-coredata://A/PoolJob/p\($0)")) }
    var session = WorkerSession()
    session.receive(.run(jobs))
    #expect(session.begin(limit: 2) == Array(jobs[..<2]))
    let before = session.outgoing.count
    session.giveBack([jobs[1]])
    session.end([jobs[0]], .done)
    #expect(session.notBegun.isEmpty && session.running.isEmpty)
    let said = String(decoding: session.outgoing.dropFirst(before), as: UTF8.self)
    #expect(said == "RETURNED \(jobs[1]) \(jobs[2]) \(jobs[3])\nDONE \(jobs[0])\n")
  }
}

@Suite struct JobPaceTests {
  @Test func shortJobsAreHeldAndGroupedLongOnesAreNot() {
    var pace = JobPace()
    #expect(pace.groupSize == 1, "nothing is known yet")
    for _ in 0..<20 { pace.note(1, seconds: 0.000_05, work: 0.000_01) }
    #expect(pace.groupSize == JobPace.mostGrouped)
    #expect(pace.credit > 100)
    for _ in 0..<20 { pace.note(1, seconds: 1, work: 1) }
    #expect(pace.groupSize == 1)
    #expect(pace.credit == 1)
  }

  /// Round trips to a server take as long for many jobs as for one, however far away it is.
  @Test func atAServerOnlyTheWorkOfJobsKeepsThemApart() {
    var (near, far) = (JobPace(), JobPace(savesExclusively: false))
    for _ in 0..<20 {
      near.note(1, seconds: 0.01, work: 0.000_01)
      far.note(1, seconds: 0.01, work: 0.000_01)
    }
    #expect(near.groupSize == 1 && far.groupSize == JobPace.mostGrouped && far.credit >= far.groupSize)
    for _ in 0..<20 { far.note(1, seconds: 0.02, work: 0.01) }
    #expect(far.groupSize == 1)
  }

  @Test func aJobOfSomeMillisecondsIsLongForAGroup() {
    #expect(JobPace.isLong(0.006) && !JobPace.isLong(0.004))
  }

  /// Bundled workers, and those of people who have not thought of it, have effects outside the store.
  @Test func noKindSharesTransactionsUnlessItSaysSo() {
    struct Plain: Worker {
      static let kind = "plain"
      func run(_ job: Job, in context: NSManagedObjectContext) throws {}
    }
    #expect(!Plain.sharesTransactions)
  }

  @Test func afterAFailedGroupTheJobsAreAlone() {
    var pace = JobPace()
    for _ in 0..<20 { pace.note(1, seconds: 0.000_05, work: 0.000_01) }
    pace.groupFailed()
    #expect(pace.groupSize == 1)
    for _ in 0..<JobPace.mostGrouped { pace.note(1, seconds: 0.000_05, work: 0.000_01) }
    #expect(pace.groupSize > 1)
  }
}
