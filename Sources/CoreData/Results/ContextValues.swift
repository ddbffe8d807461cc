/// What a context's data are, now and after each change: an asynchronous sequence that
/// `NSManagedObjectContext.values(for:)` and `values(of:as:)` make. An addition to Apple's API.
///
/// Each iterator observes on its own, from its first element on, and retains the context. If the loop is slower than
/// the changes, it gets the newest state next and none of those between: nothing is computed or kept for an element
/// that the loop does not take.
///
/// The observation ends with the iterator: when the loop is left, the task is cancelled, or the sequence ends or
/// throws. The sequence is `Sendable` if its elements are; several tasks may iterate over it then.
///
/// ```swift
/// let titles = context.values(for: NSFetchRequest<Book>(entityName: "Book")) { $0.title ?? "" }
/// let following = Task {
///   for try await list in titles { print(list.count) }
/// }
/// following.cancel()  // the loop ends, and with it the observation
/// ```
///
/// How a loop and the context meet:
///
/// ```text
/// task with the loop                      the context's queue
/// next()                                  take(): makes the source, fetches
///   element 1
///   the body runs                         a change: signal
///                                         a change: signal, which is there already
/// next()
///   the signal is there                   take(): the state after both changes
///   element 2
/// next()
///   waits for a signal
///                                         a merge that concerns no row: no signal
///                                         a change: signal
///                                         take()
///   element 3
/// ```
///
/// A signal only says "look": `take()` finds out what is new, so a loop that does not go on costs the context one flag
/// for each change.
///
/// What happens otherwise: a context that the program releases lives on with its objects as long as a loop waits.
public struct ContextValues<Element>: AsyncSequence {
  /// Errors of the fetch and of the closure that makes the values.
  ///
  /// After an error the sequence has ended: begin a new loop to go on.
  public typealias Failure = any Error

  let context: NSManagedObjectContext
  /// Measured from element to element: changes that come within it are in the next one.
  let interval: Duration?
  /// Makes the source that an iterator follows. Called on the context's queue.
  let makeSource: @Sendable (ChangeSignal) -> any ValueSource<Element>

  /// An iterator, which begins to observe with its first element.
  ///
  /// It touches neither the context nor the store: any thread. `for try await` calls it.
  public func makeAsyncIterator() -> Iterator {
    let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    return Iterator(
      observation: ContextObservation(context, ChangeSignal(continuation), makeSource),
      signals: signals.makeAsyncIterator(), interval: interval)
  }

  /// Observes while it exists.
  ///
  /// A value that must not be copied while it is used: two copies share one observation, and an element goes to one of
  /// them.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil when the sequence has ended.
    ///
    /// Its release ends the observation, so nothing has to be called when a loop is left with `break`, `return` or an
    /// error.
    fileprivate var observation: ContextObservation<Element>?
    fileprivate var signals: AsyncStream<Void>.Iterator
    fileprivate let interval: Duration?
    /// The time of the last element; nil before the first.
    ///
    /// By the continuous clock, which goes on while the machine sleeps.
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
    ///
    /// One element at a time: it must not be called again before it returns.
    ///
    /// - Throws: the errors of the fetch, of reading the object, and of the closure. The next call then returns nil.
    public mutating func next() async throws -> Element? { try await next(isolation: nil) }

    /// The same for the code of an actor.
    ///
    /// `for try await` in an actor's code calls it, so that the loop needs no hop to another executor between two
    /// elements. The context's work still runs on the context's queue.
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

/// Says that an iterator may find something new. Several changes before the iterator looks are one signal.
///
/// The stream keeps the newest element only, so that signals do not add up. `yield` is safe on any thread, and does
/// nothing after the loop has ended.
struct ChangeSignal: Sendable {
  private let continuation: AsyncStream<Void>.Continuation

  init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }

  func send() { continuation.yield() }
}

/// The answer of a source to the question for an element.
///
/// `unchanged` comes when a signal is older than the last `take`: the loop waits on.
enum TakenValue<Element> {
  case element(Element)
  /// Nothing changed since the last element.
  case unchanged
  /// There will be no further element.
  case end
}

/// Follows a part of a context's data. Used on the context's queue.
///
/// Made on the queue by the first `take`, so that nothing is observed, and nothing fetched, before the loop begins.
protocol ValueSource<Element>: AnyObject {
  associatedtype Element

  /// The newest state, if it differs from the last one that was taken.
  ///
  /// It may be asked at any time, with or without a signal before.
  func take() throws -> TakenValue<Element>

  /// Ends the observation.
  ///
  /// Called once, on the context's queue.
  func stop()
}

/// A source and the context on whose queue it is used. The source is made with the first element, and stopped with this
/// object.
///
/// The task may end at any moment and on any thread, but the source must be released on the queue because its observers
/// are the context's. So `deinit` hands the source to the queue.
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

  /// The event is ended first: observers, the source among them, hear of what the last block did, and the list of
  /// objects and their values are of one moment.
  nonisolated(nonsending) func take() async throws -> TakenValue<Element> {
    try await context.perform {
      self.context.processEvent()
      let source = self.source ?? self.makeSource(self.signal)
      self.source = source
      return try source.take()
    }
  }
}
