import Dispatch
import Foundation
import Jobs
import PoolClient
import Synchronization

/// What a person may do with jobs.
enum JobChange: String, CaseIterable, Sendable {
  case retry, cancel, delete

  var command: StatusRequest.Command {
    switch self {
    case .retry: .retry
    case .cancel: .cancel
    case .delete: .delete
    }
  }

  /// The states of jobs that can be changed so.
  var states: [JobState] {
    switch self {
    case .retry: [.dead, .cancelled, .retryable, .scheduled, .pending, .blocked]
    case .cancel: JobState.allCases.filter(\.isUnfinished)
    case .delete: JobState.allCases.filter { !$0.isUnfinished }
    }
  }

  var title: String {
    switch self {
    case .retry: "Retry"
    case .cancel: "Cancel"
    case .delete: "Delete"
    }
  }

  /// As in "3 jobs …".
  var done: String {
    switch self {
    case .retry: "will run again"
    case .cancel: "cancelled"
    case .delete: "deleted"
    }
  }
}

/// Changes jobs in the background, a thousand at a time: the pool goes on meanwhile, and so do the pages.
final class JobChanges: Sendable {
  /// How far a change has come.
  struct Progress: Sendable {
    var change: JobChange
    var total: Int
    var done = 0
    var kept = 0
    var problem: String?
    var isOver = false

    var text: String {
      var text = isOver ? "" : "\(change.title): working on \(Count.text(total, "job")). "
      text += "\(Count.text(done, "job")) \(change.done)"
      if kept > 0 { text += "; \(Count.text(kept, "job")) left alone, because they run, are awaited or have changed" }
      if let problem { text += "; \(problem)" }
      return text + "."
    }
  }

  private let queue: String
  private let worker = DispatchQueue(label: "workerpool-web.changes", attributes: .concurrent)
  private let state = Mutex<[Progress]>([])

  private static let atATime = 1000
  private static let timeout = 60.0

  init(queue: String) { self.queue = queue }

  /// The progress of a change, by the number that ``start(_:jobs:states:)`` gave.
  subscript(number: Int) -> Progress? { state.withLock { $0.indices.contains(number) ? $0[number] : nil } }

  /// The changes that go on.
  var going: [Progress] { state.withLock { $0.filter { !$0.isOver } } }

  /// Begins a change of the jobs that fit now.
  ///
  /// - Parameters:
  ///   - count: how many they are, for people.
  ///   - then: called when it is over.
  /// - Returns: its number; nil while too many others go on.
  func start(
    _ change: JobChange, _ selection: JobSelection, count: Int, store: String, then: @escaping @Sendable () -> Void
  ) -> Int? {
    let number: Int? = state.withLock { state in
      guard state.filter({ !$0.isOver }).count < Self.mostAtOnce else { return nil }
      state.append(Progress(change: change, total: count))
      return state.count - 1
    }
    guard let number else { return nil }
    worker.async { [self] in
      do {
        try carryOut(change, selection, JobReader(path: store), number)
      } catch {
        state.withLock { $0[number].problem = (error as? PageError)?.text ?? ErrorText.text(error) }
      }
      state.withLock { $0[number].isOver = true }
      then()
    }
    return number
  }

  /// Changes that wait or go on at a time.
  static let mostAtOnce = 4

  private func carryOut(_ change: JobChange, _ selection: JobSelection, _ jobReader: JobReader, _ number: Int) throws {
    let pool = try StatusClient(queue: queue)
    // The newest jobs come first: workers take the oldest, so those would be running before the change reaches them.
    var end = try jobReader.newest()
    while true {
      let keys = try jobReader.keys(selection, in: change.states, upTo: end, limit: Self.atATime)
      guard let last = keys.last else { return }
      end = last - 1
      let request = StatusRequest(
        change.command, jobs: jobReader.reader.jobURIs.texts(keys),
        states: change == .delete ? change.states.map(\.name) : nil)
      let reply = try pool.request(request, within: Self.timeout)
      let count = reply.ok ? reply.count ?? keys.count : 0
      state.withLock { state in
        state[number].done += count
        state[number].kept += keys.count - count
        if let error = reply.error { state[number].problem = StatusText.named(error) }
      }
    }
  }
}

/// Numbers with their nouns.
enum Count {
  /// - Parameter noun: in the singular, with a plural in "s", or in "es" after a hissing sound.
  static func text(_ count: Int, _ noun: String) -> String {
    let hisses = ["s", "x", "z", "ch", "sh"].contains { noun.hasSuffix($0) }
    return "\(number(count)) \(noun)\(count == 1 ? "" : hisses ? "es" : "s")"
  }

  /// With a thin space between groups of three digits.
  static func number(_ count: Int) -> String {
    let digits = String(abs(count))
    guard digits.count > 4 else { return String(count) }
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "\u{202F}" }
      text.append(digit)
    }
    return (count < 0 ? "-" : "") + text
  }
}
