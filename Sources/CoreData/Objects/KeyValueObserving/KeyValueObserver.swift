/// What observes properties by name, with `addObserver(_:forKeyPath:options:context:)`.
///
/// On Apple's platforms `observeValue(forKeyPath:of:change:context:)` is a method of `NSObject` that classes override.
/// Foundation's `NSObject` on Linux has no such method, so the observer's class conforms to this protocol.
///
/// ```swift
/// final class Watcher: KeyValueObserver {
///   func observeValue(
///     forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
///     context: UnsafeMutableRawPointer?
///   ) {
///     print("\(keyPath ?? "") changed")
///   }
/// }
/// let watcher = Watcher()
/// book.addObserver(watcher, forKeyPath: "title", options: [.new], context: nil)
/// book.title = "Emma"
/// book.removeObserver(watcher, forKeyPath: "title")
/// ```
///
/// Take it to port code that observes by name. New code takes `observe(_:options:changeHandler:)`, which has types and
/// ends by itself. The method runs on the queue where the change is made, the context's for a managed object: it must
/// not block, and what it changes is part of the same event.
///
/// Not part of Apple's API, where the method is `NSObject`'s; a class that overrides it there declares this conformance
/// here and drops the `override`.
///
/// Source: Apple's Key-Value Observing Programming Guide.
public protocol KeyValueObserver: AnyObject {
  /// Called where the change is made, as the options ask for it.
  ///
  /// - Parameters:
  ///   - keyPath: the name as the observer gave it.
  ///   - object: the object whose property changes. Observers may keep it, for use on the same queue.
  ///   - change: the values that the options ask for, with `NSNull` for nil.
  ///   - context: the pointer that the observer gave, which tells its observations apart.
  func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?)
}

/// The parts of a change in `observeValue(forKeyPath:of:change:context:)`. Texts are Apple's.
///
/// ```swift
/// func title(in change: [NSKeyValueChangeKey: Any]?) -> String? {
///   // NSNull stands for nil, and is no String.
///   change?[.newKey] as? String
/// }
/// ```
///
/// A key that the options did not ask for is absent.
public struct NSKeyValueChangeKey: RawRepresentable, Hashable, Sendable {
  /// The text, which is Apple's.
  public let rawValue: String
  /// A key with this text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The kind of the change, an `NSNumber` of `NSKeyValueChange`.
  ///
  /// Always there. Its number is that of a case: `NSKeyValueChange(rawValue: number.uintValue)`.
  public static let kindKey = NSKeyValueChangeKey(rawValue: "kind")
  /// The value after the change. Only with the option `.new`.
  ///
  /// Of an insertion into a to-many relationship only the inserted objects, of a removal `NSNull`. Absent in the call
  /// before the change.
  public static let newKey = NSKeyValueChangeKey(rawValue: "new")
  /// The value before the change. Only with the option `.old`.
  ///
  /// Of a removal from a to-many relationship only the removed objects, of an insertion `NSNull`. Absent in the first
  /// call of `.initial`.
  public static let oldKey = NSKeyValueChangeKey(rawValue: "old")
  /// The positions of members. Never there: changes of ordered relationships report none.
  public static let indexesKey = NSKeyValueChangeKey(rawValue: "indexes")
  /// True in the call before the change.
  ///
  /// Absent in the call after the change. It tells the two calls of `.prior` apart.
  public static let notificationIsPriorKey = NSKeyValueChangeKey(rawValue: "notificationIsPrior")
}

/// Observing by name: the same table as `observe(_:options:changeHandler:)`, with a subscriber by which it can be
/// removed.
extension _KeyValueCodingAndObserving where Self: NSObject {
  /// Tells the observer of each change of a property that `observe(_:options:changeHandler:)` can observe. The
  /// observation retains neither the object nor the observer, and ends with either of them.
  ///
  /// ```swift
  /// final class PageWatcher: KeyValueObserver {
  ///   func follow(_ book: Book) {
  ///     book.addObserver(self, forKeyPath: "pages", options: [.old, .new], context: nil)
  ///   }
  ///
  ///   func observeValue(
  ///     forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
  ///     context: UnsafeMutableRawPointer?
  ///   ) {
  ///     print(change?[.oldKey] ?? "", "->", change?[.newKey] ?? "")
  ///   }
  /// }
  /// ```
  ///
  /// The same observer may observe a property several times, and hears once for each. Call it on the object's queue.
  /// Apple's framework crashes where an observer is freed without being removed; here the observation ends silently.
  ///
  /// - Parameters:
  ///   - observer: held weakly.
  ///   - keyPath: the name of one property. Traps for others, and for a path of several steps.
  ///   - options: which values the calls bring, and which calls there are. Default: none, a call after each change with
  ///     its kind.
  ///   - context: any pointer, passed on as it is. It is compared, never followed.
  ///
  /// Source: Apple's documentation of `addObserver(_:forKeyPath:options:context:)`.
  public func addObserver(
    _ observer: any KeyValueObserver, forKeyPath keyPath: String, options: NSKeyValueObservingOptions = [],
    context: UnsafeMutableRawPointer?
  ) {
    require(_isObservable(keyPath), "\(keyPath) of \(type(of: self)) cannot be observed.")
    let subscriber = KeyValueObservers.Subscriber(observer: ObjectIdentifier(observer), context: context)
    let read = { (object: Self) in object.value(forKey: keyPath) }
    _ = observeChanges(of: keyPath, options, for: subscriber, read: read) { [weak observer] object, values in
      var change: [NSKeyValueChangeKey: Any] = [.kindKey: NSNumber(value: values.kind.rawValue)]
      if options.contains(.old), !values.isInitial { change[.oldKey] = values.old ?? NSNull() }
      if options.contains(.new), !values.isPrior { change[.newKey] = values.new ?? NSNull() }
      if values.isPrior { change[.notificationIsPriorKey] = NSNumber(value: true) }
      observer?.observeValue(forKeyPath: keyPath, of: object, change: change, context: context)
    }
  }

  /// Ends the last such observation. Traps if there is none.
  ///
  /// An observer that is freed needs no call. Use the form with a context where one object observes the same property
  /// twice.
  ///
  /// Source: Apple's documentation of `removeObserver(_:forKeyPath:)`.
  public func removeObserver(_ observer: any KeyValueObserver, forKeyPath keyPath: String) {
    endObservation(by: observer, of: keyPath, under: nil)
  }

  /// Ends the last such observation under this context. Traps if there is none.
  ///
  /// - Parameters:
  ///   - keyPath: as it was added.
  ///   - context: the same pointer as in `addObserver`; nil stands for observations without one, not for any.
  ///
  /// Source: Apple's documentation of `removeObserver(_:forKeyPath:context:)`.
  public func removeObserver(
    _ observer: any KeyValueObserver, forKeyPath keyPath: String, context: UnsafeMutableRawPointer?
  ) {
    endObservation(by: observer, of: keyPath, under: .some(context))
  }

  /// The outer optional tells whether a context was given, the inner one is that context.
  private func endObservation(
    by observer: any KeyValueObserver, of key: String, under context: UnsafeMutableRawPointer??
  ) {
    require(
      KeyValueObservers.remove(ObjectIdentifier(observer), key, under: context, of: ObjectIdentifier(self)),
      "\(type(of: observer)) cannot be removed as an observer of \(key): it does not observe that.")
  }
}
