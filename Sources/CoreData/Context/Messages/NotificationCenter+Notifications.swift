/// Gives `NotificationCenter` the asynchronous sequence that Foundation lacks on Linux.
extension NotificationCenter {
  /// The notifications of one name, as an asynchronous sequence: of one object, or with nil of all.
  ///
  /// ```swift
  /// for await _ in NotificationCenter.default.notifications(named: .NSPersistentStoreRemoteChange) {
  ///   print("a store was changed")
  /// }
  /// ```
  ///
  /// Each iterator gets the notifications that are posted while it exists, and keeps those that are not yet read,
  /// without a limit. An iteration ends when its task is cancelled.
  ///
  /// Notifications pile up in a task that is slower than their poster: read what is needed from each and go on. An
  /// iterator misses what was posted before it was made, so begin the iteration before the code that posts.
  ///
  /// - Parameters:
  ///   - name: the notification's name.
  ///   - object: the poster; nil for all.
  /// - Returns: a sequence; it observes nothing before it is iterated.
  ///
  /// Source: Apple's documentation of `notifications(named:object:)`.
  public func notifications(named name: Notification.Name, object: (any AnyObject & Sendable)? = nil) -> Notifications {
    Notifications(center: self, name: name, object: object)
  }

  /// The sequence that `notifications(named:object:)` gives. Several tasks may iterate over it, each with an iterator
  /// of its own.
  ///
  /// It retains the named poster. The iterators have the notifications.
  ///
  /// Source: Apple's documentation of `NotificationCenter.Notifications`.
  public final class Notifications: AsyncSequence, Sendable {
    private let center: NotificationCenter
    private let name: Notification.Name
    private let object: (any AnyObject & Sendable)?

    fileprivate init(center: NotificationCenter, name: Notification.Name, object: (any AnyObject & Sendable)?) {
      self.center = center
      self.name = name
      self.object = object
    }

    /// Begins to collect notifications.
    ///
    /// The observation ends with the iterator.
    ///
    /// - Returns: an iterator for one task.
    public func makeAsyncIterator() -> Iterator {
      let (stream, continuation) = AsyncStream<Notification>.makeStream()
      let observation = NotificationObservation(of: name, from: object, in: center) { notification in
        // `nonisolated(unsafe)`: as on a Mac, the receiver gets what the poster still has.
        nonisolated(unsafe) let notification = notification
        continuation.yield(notification)
      }
      return Iterator(base: stream.makeAsyncIterator(), observation: observation)
    }

    /// Collects the notifications that are posted while it exists.
    ///
    /// `for await` makes one and lets it go at the end of the loop. Use it in one task.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var base: AsyncStream<Notification>.Iterator
      fileprivate let observation: NotificationObservation

      /// The next notification; nil when the task is cancelled. It suspends until there is one.
      ///
      /// The notification comes from the poster's thread as it is: objects in it still belong to their context's queue.
      public mutating func next() async -> Notification? { await base.next() }

      /// The next notification, for the code of an actor; nil when the task is cancelled.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
        await base.next(isolation: actor)
      }
    }
  }
}
