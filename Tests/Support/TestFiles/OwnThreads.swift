import Foundation
import Synchronization
import Testing

extension Trait where Self == OwnThreads {
  /// Runs each test of a suite on one of a few further threads, for tests that wait for processes, sockets or times.
  ///
  /// Swift runs tests on as many threads as the machine has processors. A test that waits keeps its thread, and a few
  /// of them leave the machine without work:
  ///
  /// ```swift
  /// @Suite(.ownThreads) struct StallTests { … }
  /// ```
  ///
  /// Tests of the main actor stay there.
  public static var ownThreads: Self { Self() }
}

/// The trait `.ownThreads`.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  /// A suite's tests have it, too.
  public var isRecursive: Bool { true }

  /// For each case of a test: a suite itself runs nothing.
  public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  /// Runs a case of a test on the further threads.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(FurtherThreads.shared, operation: function)
  }
}

/// Threads that take the parts of tasks in the order in which they come.
///
/// `@unchecked Sendable`: `jobs` is only touched while `condition` is locked.
private final class FurtherThreads: TaskExecutor, @unchecked Sendable {
  static let shared = FurtherThreads(count: 6)

  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  private init(count: Int) {
    for _ in 0..<count {
      let thread = Thread { [unowned self] in while true { next().runSynchronously(on: asUnownedTaskExecutor()) } }
      thread.name = "waiting tests"
      // As the threads of Swift: a task's part may need more than the 512 KiB of a thread.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    condition.lock()
    jobs.append(UnownedJob(job))
    condition.signal()
    condition.unlock()
  }

  private func next() -> UnownedJob {
    condition.lock()
    defer { condition.unlock() }
    while jobs.isEmpty { condition.wait() }
    return jobs.removeFirst()
  }
}
