import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing

@testable import WorkerPool

/// Job files that are taken while other processes change what the intake has read.
@Suite struct IntakeConflictTests {
  /// Where the store is.
  enum Kind: CaseIterable {
    case file, server

    /// Those that there are on this machine.
    static let available = allCases.filter { $0 == .file || PostgreSQLServer.isInstalled }
  }

  private let schema = "intake_\(UInt32.random(in: 0 ... .max))"

  private func withPlace(_ kind: Kind = .file, _ body: (IntakePlace, JobStore) async throws -> Void) async throws {
    let place = try IntakePlace()
    defer { place.remove() }
    guard kind == .server else { return try await body(place, try place.store()) }
    let store = try JobStore(url: PostgreSQLServer.shared.url(schema: schema), model: NSManagedObjectModel())
    try await body(place, store)
    _ = try PostgreSQLServer.shared.psql("DROP SCHEMA IF EXISTS \(schema), \(schema)_wp CASCADE")
  }

  /// Runs the body just before each save of the intake, until it is stopped.
  ///
  /// `@unchecked Sendable`: the observer is set once, before any save.
  private final class Interruption: @unchecked Sendable {
    let count = Mutex(0)
    private var observer: (any NSObjectProtocol)?

    /// - Parameter body: gets the number of the save, from 1 on.
    init(of store: JobStore, _ body: @escaping @Sendable (Int) throws -> Void) {
      observer = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextWillSave, object: nil, queue: nil
      ) { [self] notification in
        guard let context = notification.object as? NSManagedObjectContext, context.name == "queue directory",
          context.persistentStoreCoordinator === store.coordinator
        else { return }
        let number = count.withLock { count in
          count += 1
          return count
        }
        #expect(throws: Never.self) { try body(number) }
      }
    }

    func stop() {
      if let observer { NotificationCenter.default.removeObserver(observer) }
    }
  }

  private static func perform<T: Sendable>(
    _ store: JobStore, _ body: @Sendable (NSManagedObjectContext) throws -> T
  ) throws -> T {
    let context = store.makeContext(name: "other")
    return try context.performAndWait { try body(context) }
  }

  /// A job that has succeeded, and whose period is over. Its row still has the key.
  private func insertFormerHolder(of key: String, into store: JobStore) throws {
    let came = Date() - 100
    try Self.perform(store) { context in
      var request = JobRequest(kind: "former")
      request.uniqueKey = key
      request.options.uniqueFor = 10
      let job = try #require(try store.insert([request], into: context, at: came).first)
      try job.markSucceeded(startedAt: came + 1, at: came + 2)
      try context.save()
    }
  }

  /// The intake takes the key from the former job, which another process deletes meanwhile. Nobody hears of it.
  @Test(arguments: Kind.available) func aFileIsTakenAtOnceAfterAConflict(kind: Kind) async throws {
    try await withPlace(kind) { place, store in
      try insertFormerHolder(of: "k", into: store)
      let interruption = Interruption(of: store) { number in
        guard number == 1 else { return }
        try Self.perform(store) { context in
          for job in try context.fetch(Job.fetchRequest()) { context.delete(job) }
          try context.save()
        }
      }
      defer { interruption.stop() }
      try place.put(#"{"kind":"a","unique":"k"}"#, "1.json")
      let report = await place.take(["1.json"], try Intake(layout: place.layout, store: store))
      #expect(report.files == 1 && report.jobs == 1 && report.postponed == 0)
      #expect(report.failures.isEmpty, "\(report.failures)")
      #expect(interruption.count.withLock { $0 } == 2)
      #expect(try place.kinds(store) == ["a"])
    }
  }

  /// A dependent of a job that is deleted meanwhile would run as if the job had succeeded:
  ///
  ///     intake                     another process
  ///     finds the dead job, or one that has not run yet
  ///                                deletes it
  ///     saves the dependent: conflict
  ///     misses the job, and rejects the file
  @Test(arguments: Kind.available, [true, false]) func aFileIsRejectedIfTheJobThatItNamesGoes(
    kind: Kind, hasFailed: Bool
  ) async throws {
    try await withPlace(kind) { place, store in
      let awaited = try Self.perform(store) { context in
        let job = try #require(try store.insert([JobRequest(kind: "awaited")], into: context).first)
        if hasFailed {
          try job.markFailed(
            AttemptFailure(attempt: 1, date: Date(), type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1))
        }
        try context.save()
        return job.objectID.uriString
      }
      let interruption = Interruption(of: store) { _ in
        try Self.perform(store) { context in
          for job in try context.fetch(Job.fetchRequest()) { context.delete(job) }
          try context.save()
        }
      }
      defer { interruption.stop() }
      try place.put(#"{"kind":"a","after":["\#(awaited)"]}"#, "1.json")
      let report = await place.take(["1.json"], try Intake(layout: place.layout, store: store))
      #expect(report.files == 0 && report.jobs == 0 && report.failures.isEmpty, "\(report.failures)")
      #expect(report.rejected.map(\.name) == ["1.json"])
      #expect(report.rejected.first?.reason.contains("there is no job") == true)
      #expect(interruption.count.withLock { $0 } == 1)
      #expect(try place.kinds(store) == [])
    }
  }

  /// Jobs are claimed and end all the time: that is no conflict for the files that name them.
  @Test(arguments: Kind.available) func aFileIsTakenAtOnceIfTheJobThatItNamesBegins(kind: Kind) async throws {
    try await withPlace(kind) { place, store in
      let awaited = try Self.perform(store) { context in
        let job = try #require(try store.insert([JobRequest(kind: "awaited")], into: context).first)
        try context.save()
        return job.objectID.uriString
      }
      let interruption = Interruption(of: store) { _ in
        try Self.perform(store) { context in
          for job in try context.fetch(Job.fetchRequest()) { try job.markSucceeded(startedAt: Date(), at: Date()) }
          try context.save()
        }
      }
      defer { interruption.stop() }
      try place.put(#"{"kind":"a","after":["\#(awaited)"]}"#, "1.json")
      let report = await place.take(["1.json"], try Intake(layout: place.layout, store: store))
      #expect(report.files == 1 && report.jobs == 1 && report.rejected.isEmpty, "\(report.failures)")
      #expect(interruption.count.withLock { $0 } == 1)
    }
  }

  @Test func conflictsThatDoNotEndAreTold() async throws {
    try await withPlace { place, store in
      try insertFormerHolder(of: "k", into: store)
      let interruption = Interruption(of: store) { _ in
        try Self.perform(store) { context in
          for job in try context.fetch(Job.fetchRequest()) { job.priority += 1 }
          try context.save()
        }
      }
      defer { interruption.stop() }
      try place.put(#"{"kind":"a","unique":"k"}"#, "1.json")
      let report = await place.take(["1.json"], try Intake(layout: place.layout, store: store))
      #expect(report.files == 0 && report.postponed == 1)
      #expect(report.failures.count == 1, "\(report.failures)")
      #expect(
        report.failures.first == "1 job file cannot be taken into the store: "
          + "other processes wrote the same rows first, \(JobStore.conflictTries) times in a row")
      #expect(interruption.count.withLock { $0 } == JobStore.conflictTries)
    }
  }
}
