import Dispatch
import Foundation
import Jobs
import PoolClient
import Synchronization

extension JobChange {
  /// On buttons.
  var title: String {
    switch self {
    case .retry: "Retry"
    case .cancel: "Cancel"
    case .delete: "Delete"
    }
  }
}

/// Changes jobs in the background: the pool goes on meanwhile, and so do the pages.
final class JobChanges: Sendable {
  /// How far a change has come.
  struct Progress: Sendable {
    var change: JobChange
    var total: Int
    var result = JobChangeResult()
    var failure: String?
    var isOver = false

    var problem: String? { failure ?? result.refusal.map(StatusText.named) }

    var text: String {
      var text = isOver ? "" : "\(change.title): working on \(Count.text(total, "job")). "
      text += "\(Count.text(result.done, "job")) \(change.done)"
      let kept = result.jobs - result.done
      if kept > 0 { text += "; \(Count.text(kept, "job")) left alone, because they run, are awaited or have changed" }
      if let problem { text += "; \(problem)" }
      return text + "."
    }
  }

  private let queue: String
  private let worker = DispatchQueue(label: "workerpool-web.changes", attributes: .concurrent)
  private let state = Mutex<[Progress]>([])

  private static let timeout = 60.0

  init(queue: String) { self.queue = queue }

  /// The progress of a change, by the number that ``start(_:_:count:store:status:for:then:)`` gave.
  subscript(number: Int) -> Progress? { state.withLock { $0.indices.contains(number) ? $0[number] : nil } }

  /// Begins a change of the jobs that fit now.
  ///
  /// - Parameters:
  ///   - count: how many they are, for people.
  ///   - status: that of the pool, which has the kinds of other pools; nil where none runs.
  ///   - visitor: who has asked for it.
  ///   - then: called when it is over.
  /// - Returns: its number; nil while too many others go on.
  func start(
    _ change: JobChange, _ filter: JobFilter, count: Int, store: String, status: PoolStatus?, for visitor: Visitor,
    then: @escaping @Sendable () -> Void
  ) -> Int? {
    let number: Int? = state.withLock { state in
      guard state.filter({ !$0.isOver }).count < Self.mostAtOnce else { return nil }
      state.append(Progress(change: change, total: count))
      return state.count - 1
    }
    guard let number else { return nil }
    worker.async { [self] in
      do {
        let jobReader = try JobReader(path: store)
        if filter.wait != nil { jobReader.noteWaits(of: queue, status) }
        try carryOut(change, number: number, on: filter, of: jobReader, for: visitor)
      } catch {
        state.withLock { $0[number].failure = (error as? PageError)?.text ?? ErrorText.text(error) }
      }
      state.withLock { $0[number].isOver = true }
      then()
    }
    return number
  }

  /// Changes that wait or go on at a time.
  static let mostAtOnce = 4

  private func carryOut(
    _ change: JobChange, number: Int, on filter: JobFilter, of jobReader: JobReader, for visitor: Visitor
  ) throws {
    _ = try change.carryOut(
      on: jobReader.bounded(filter), of: jobReader.reader,
      by: StatusClient(queue: queue, webUser: visitor.loggedName), within: Self.timeout,
      reading: { try jobReader.within(JobReader.longestChange, $0) },
      note: { result in state.withLock { $0[number].result = result } })
  }
}

/// Numbers with their nouns.
enum Count {
  /// - Parameter noun: in the singular.
  static func text(_ count: Int, _ noun: String) -> String { "\(number(count)) \(Plural.form(noun, for: count))" }

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
