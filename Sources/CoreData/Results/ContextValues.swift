/// What a context's data are, now and after each change: an asynchronous sequence that
/// `NSManagedObjectContext.values(for:)` and `values(of:as:)` make. An addition to Apple's API.
///
/// Each iterator observes on its own, from its first element on, and keeps the context. If the consumer is slower than
/// the changes, it gets the newest state next and none of those between: nothing is computed, and nothing kept, for an
/// element that nobody takes.
///
/// The observation ends with the iterator: when the loop is left, the task is cancelled, or the sequence ends or
/// throws. The sequence is `Sendable` if its elements are; several tasks may iterate over it then.
public struct ContextValues<Element>: AsyncSequence {
  /// Errors of the fetch and of the closure that makes the values.
  public typealias Failure = any Error

  let context: NSManagedObjectContext
  let interval: Duration?
  /// Makes the source that an iterator follows. Called on the context's queue.
  let makeSource: @Sendable (ChangeSignal) -> any ValueSource<Element>

  /// An iterator, which begins to observe with its first element.
  public func makeAsyncIterator() -> Iterator {
    let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    return Iterator(
      observation: ContextObservation(context, ChangeSignal(continuation), makeSource),
      signals: signals.makeAsyncIterator(), interval: interval)
  }

  /// Observes while it exists.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil when the sequence has ended.
    fileprivate var observation: ContextObservation<Element>?
    fileprivate var signals: AsyncStream<Void>.Iterator
    fileprivate let interval: Duration?
    /// The time of the last element; nil before the first.
    private var lastElement: ContinuousClock.Instant?

    fileprivate init(
      observation: ContextObservation<Element>, signals: AsyncStream<Void>.Iterator, interval: Duration?
    ) {
      self.observation = observation
      self.signals = signals
      self.interval = interval
    }

    /// The present state at first, then the newest one after each change; nil when the task is cancelled or the
    /// observed object was deleted.
    public mutating func next() async throws -> Element? { try await next(isolation: nil) }

    /// The same for the code of an actor.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      guard let observation else { return nil }
      do {
        while !Task.isCancelled {
          if let lastElement {
            guard await signals.next(isolation: actor) != nil else { break }
            if let interval { try await Task.sleep(until: lastElement + interval, clock: .continuous) }
          }
          switch try await observation.take() {
          case .element(let element):
            lastElement = .now
            return element
          case .unchanged: continue
          case .end:
            self.observation = nil
            return nil
          }
        }
      } catch {
        self.observation = nil
        // The pause between two elements ends with this error, and the sequence as every cancelled one.
        if error is CancellationError, Task.isCancelled { return nil }
        throw error
      }
      self.observation = nil
      return nil
    }
  }
}

extension ContextValues: Sendable where Element: Sendable {}

/// Says that an iterator may find something new. Several changes that nobody has heard of are one signal.
struct ChangeSignal: Sendable {
  private let continuation: AsyncStream<Void>.Continuation

  init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

  func send() { continuation.yield() }
}

/// The answer of a source to the question for an element.
enum TakenValue<Element> {
  case element(Element)
  /// Nothing changed since the last element.
  case unchanged
  /// There will be no further element.
  case end
}

/// Follows a part of a context's data. Used on the context's queue.
protocol ValueSource<Element>: AnyObject {
  associatedtype Element

  /// The newest state, if it differs from the last one that was taken.
  func take() throws -> TakenValue<Element>

  /// Ends the observation.
  func stop()
}

/// A source and the context on whose queue it is used. The source is made with the first element, and stopped with this
/// object.
///
/// `@unchecked Sendable`: `source` is used on the context's queue, and by `deinit`, which hands it to that queue.
private final class ContextObservation<Element>: @unchecked Sendable {
  private let context: NSManagedObjectContext
  private let signal: ChangeSignal
  private let makeSource: @Sendable (ChangeSignal) -> any ValueSource<Element>
  private var source: (any ValueSource<Element>)?

  init(
    _ context: NSManagedObjectContext, _ signal: ChangeSignal,
    _ makeSource: @escaping @Sendable (ChangeSignal) -> any ValueSource<Element>
  ) {
    self.context = context
    self.signal = signal
    self.makeSource = makeSource
  }

  deinit {
    guard let source else { return }
    // `nonisolated(unsafe)`: only the block has it from now on.
    nonisolated(unsafe) let last = source
    context.enqueue { last.stop() }
  }

  nonisolated(nonsending) func take() async throws -> TakenValue<Element> {
    try await context.perform {
      // Values and the list of objects are those of the same moment.
      self.context.processEvent()
      let source = self.source ?? self.makeSource(self.signal)
      self.source = source
      return try source.take()
    }
  }
}
