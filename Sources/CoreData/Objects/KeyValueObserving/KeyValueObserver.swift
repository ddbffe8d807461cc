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
public protocol KeyValueObserver: AnyObject {
  /// Called where the change is made, as the options ask for it.
  ///
  /// - Parameters:
  ///   - change: the values that the options ask for, with `NSNull` for nil.
  ///   - context: the pointer that the observer gave, which tells its observations apart.
  func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?,
    context: UnsafeMutableRawPointer?)
}

/// The parts of a change in `observeValue(forKeyPath:of:change:context:)`. Texts are Apple's.
public struct NSKeyValueChangeKey: RawRepresentable, Hashable, Sendable {
  /// The text, which is Apple's.
  public let rawValue: String
  /// A key with this text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The kind of the change, an `NSNumber` of `NSKeyValueChange`.
  public static let kindKey = NSKeyValueChangeKey(rawValue: "kind")
  /// The value after the change. Only with the option `.new`.
  public static let newKey = NSKeyValueChangeKey(rawValue: "new")
  /// The value before the change. Only with the option `.old`.
  public static let oldKey = NSKeyValueChangeKey(rawValue: "old")
  /// The positions of members. Never there: changes of ordered relationships report none.
  public static let indexesKey = NSKeyValueChangeKey(rawValue: "indexes")
  /// True in the call before the change.
  public static let notificationIsPriorKey = NSKeyValueChangeKey(rawValue: "notificationIsPrior")
}

extension _KeyValueCodingAndObserving where Self: NSObject {
  /// Tells the observer of each change of a property that `observe(_:options:changeHandler:)` can observe. The
  /// observation keeps neither of the two alive, and ends with either of them.
  ///
  /// - Parameter keyPath: the name of one property. Traps for others, and for a path of several steps.
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
  public func removeObserver(_ observer: any KeyValueObserver, forKeyPath keyPath: String) {
    endObservation(by: observer, of: keyPath, under: nil)
  }

  /// Ends the last such observation under this context. Traps if there is none.
  public func removeObserver(
    _ observer: any KeyValueObserver, forKeyPath keyPath: String, context: UnsafeMutableRawPointer?
  ) {
    endObservation(by: observer, of: keyPath, under: .some(context))
  }

  private func endObservation(
    by observer: any KeyValueObserver, of key: String, under context: UnsafeMutableRawPointer??
  ) {
    require(
      KeyValueObservers.remove(ObjectIdentifier(observer), key, under: context, of: ObjectIdentifier(self)),
      "\(type(of: observer)) cannot be removed as an observer of \(key): it does not observe that.")
  }
}
