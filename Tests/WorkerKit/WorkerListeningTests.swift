import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerKit

/// Which thread of a worker hears what the pool says: the jobs' thread while it has no job, the main thread meanwhile.
@Suite(.ownThreads, .timeLimit(.minutes(20))) struct WorkerListeningTests {
  /// The pool's end, and a worker with its two threads.
  private final class Conversation {
    let pool: Connection
    let worker: WorkerConnection
    private var lines: [String] = []
    private let exit = Exit()

    /// - Parameter run: what a job does, on the jobs' thread.
    init(_ run: @escaping @Sendable (ObjectURI, WorkerConnection) -> Void) throws {
      let ends = try UnixSocket.pair()
      pool = ends.near
      let worker = try WorkerConnection(
        descriptor: fcntl(ends.far.number, F_DUPFD_CLOEXEC, 0), signals: nil, kinds: ["index"], orphanDeadline: 1000)
      self.worker = worker
      try BackgroundThread.start("jobs") {
        while worker.awaitJobs() {
          guard let jobs = worker.begin(limit: 1) else { continue }
          for job in jobs { run(job, worker) }
          worker.end([(jobs, .done)])
        }
      }
      try BackgroundThread.start("main") { [exit] in
        exit.code.store(worker.serve(), ordering: .relaxed)
        exit.hasCome.signal()
      }
    }

    func say(_ message: CoordinatorMessage) {
      pool.send { message.append(to: &$0) }
      pool.flush()
    }

    /// The next line that is not about the credit.
    func next() throws -> String {
      while true {
        while !lines.isEmpty {
          let line = lines.removeFirst()
          if !line.hasPrefix("CREDIT") { return line }
        }
        var watched = pollfd(fd: pool.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&watched, 1, -1)
        switch try pool.receive() {
        case .lines(let more): lines += more
        case .closed(let more):
          lines += more
          if lines.isEmpty { return "the end" }
        }
      }
    }

    /// The exit code of the worker, once it has ended.
    func code() -> Int32 {
      exit.hasCome.wait()
      return exit.code.load(ordering: .relaxed)
    }
  }

  private final class Exit: Sendable {
    let code = Atomic<Int32>(-1)
    let hasCome = DispatchSemaphore(value: 0)
  }

  private let uri: ObjectURI

  init() throws { uri = try #require(ObjectURI("x-coredata://POOL/PoolJob/p1")) }

  @Test func jobsThatComeOneByOneAreRunAndPingsAnsweredInBetween() throws {
    let talk = try Conversation { _, _ in }
    #expect(try talk.next().hasPrefix("HELLO"))
    for number in 1...200 {
      let uri = try #require(ObjectURI("x-coredata://POOL/PoolJob/p\(number)"))
      talk.say(.ping)
      #expect(try talk.next() == "PONG")
      talk.say(.run([uri]))
      #expect(try talk.next() == "BEGIN \(uri)")
      #expect(try talk.next() == "DONE \(uri)")
    }
    talk.say(.drain)
    #expect(talk.code() == 0)
  }

  /// The job waits until it is to stop, which only another thread can tell it.
  @Test func aRunningJobIsCancelledAndPingsAreAnswered() throws {
    let talk = try Conversation { uri, worker in
      _ = worker.pause(seconds: 1000) { $0.stops[uri] == .cancelled }
    }
    #expect(try talk.next().hasPrefix("HELLO"))
    for _ in 0..<50 {
      talk.say(.run([uri]))
      #expect(try talk.next() == "BEGIN \(uri)")
      talk.say(.ping)
      #expect(try talk.next() == "PONG")
      talk.say(.cancel(uri))
      #expect(try talk.next() == "DONE \(uri)")
    }
    talk.say(.drain)
    #expect(talk.code() == 0)
  }

  @Test func jobsThatComeWhileOneRunsWaitTheirTurn() throws {
    let second = try #require(ObjectURI("x-coredata://POOL/PoolJob/p2"))
    let mayEnd = DispatchSemaphore(value: 0)
    let talk = try Conversation { _, _ in mayEnd.wait() }
    #expect(try talk.next().hasPrefix("HELLO"))
    talk.say(.run([uri]))
    #expect(try talk.next() == "BEGIN \(uri)")
    talk.say(.run([second]))
    talk.say(.ping)
    #expect(try talk.next() == "PONG", "the second job has come")
    mayEnd.signal()
    mayEnd.signal()
    #expect(try [talk.next(), talk.next(), talk.next()] == ["DONE \(uri)", "BEGIN \(second)", "DONE \(second)"])
    talk.say(.drain)
    #expect(talk.code() == 0)
  }

  @Test func aWorkerWithoutJobsEndsWithItsConnection() throws {
    let talk = try Conversation { _, _ in }
    #expect(try talk.next().hasPrefix("HELLO"))
    shutdown(talk.pool.descriptor, Int32(SHUT_RDWR))
    #expect(talk.code() == 0)
    #expect(talk.worker.isOrphan)
  }

  /// As TERM does, which the main thread gets.
  @Test func aWorkerWithoutJobsEndsWhenAnotherThreadDrainsIt() throws {
    let talk = try Conversation { _, _ in }
    #expect(try talk.next().hasPrefix("HELLO"))
    talk.say(.ping)
    #expect(try talk.next() == "PONG")
    talk.worker.change { $0.session.terminate() }
    #expect(talk.code() == 0)
  }

  /// The main thread sleeps until the store will have been in use for long, though it did not hear of the job.
  @Test func theMainThreadWakesUpForAJobThatItDidNotReceive() throws {
    let mayEnd = DispatchSemaphore(value: 0)
    let talk = try Conversation { _, _ in mayEnd.wait() }
    #expect(try talk.next().hasPrefix("HELLO"))
    talk.say(.ping)
    #expect(try talk.next() == "PONG")
    talk.say(.run([uri]))
    #expect(try talk.next() == "BEGIN \(uri)")
    #expect(try talk.next() == "WAITING \(StoreWait.locked.rawValue) \(uri)", "after three seconds")
    mayEnd.signal()
    talk.say(.drain)
    #expect(talk.code() == 0)
  }
}
