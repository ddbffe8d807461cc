/// The values and calls that an observation asks for. Raw values are Apple's.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The value after the change.
  public static let new = NSKeyValueObservingOptions(rawValue: 0x01)
  /// The value before the change.
  public static let old = NSKeyValueObservingOptions(rawValue: 0x02)
  /// Calls the handler once before `observe` returns.
  public static let initial = NSKeyValueObservingOptions(rawValue: 0x04)
  /// Calls the handler before each change too.
  public static let prior = NSKeyValueObservingOptions(rawValue: 0x08)
}

/// The kind of a change of an observed property. Raw values are Apple's.
public enum NSKeyValueChange: UInt, Sendable {
  /// The property was set.
  case setting = 1
  /// Objects were added to a to-many relationship. The new value holds only these.
  case insertion = 2
  /// Objects were removed from a to-many relationship. The old value holds only these.
  case removal = 3
  /// Objects of an ordered relationship were replaced. Never reported here.
  case replacement = 4
}

/// The change of a set in `willChangeValue(forKey:withSetMutation:using:)`. Raw values are Apple's.
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// The given objects are added.
  case union = 1
  /// The given objects are removed.
  case minus = 2
  /// All but the given objects are removed.
  case intersect = 3
  /// The given objects become the members.
  case set = 4
}

/// One change of an observed property, with the values that the observation's options ask for.
public struct NSKeyValueObservedChange<Value> {
  /// What can happen to an observed property, by its name inside of the change.
  public typealias Kind = NSKeyValueChange
  /// What happened to the property: it was set, or members came or went.
  public let kind: Kind
  /// The value after the change. Only with the option `.new`, and never in the call before the change.
  public let newValue: Value?
  /// The value before the change. Only with the option `.old`.
  public let oldValue: Value?
  /// Always nil: changes of ordered relationships report no positions.
  public let indexes: IndexSet?
  /// Whether this is the call before the change.
  public let isPrior: Bool
}

/// An observation that runs. `invalidate()` ends it, and so does its release: keep it as long as you want to hear of
/// changes. An observed object costs a look into a table at each change; others cost nothing.
public final class NSKeyValueObservation: NSObject {
  private let object: ObjectIdentifier
  private let number: Int

  init(of object: NSObject, number: Int) {
    self.object = ObjectIdentifier(object)
    self.number = number
  }

  /// Ends the observation. Any thread; further calls do nothing.
  public func invalidate() { KeyValueObservers.remove(number, of: object) }

  deinit { invalidate() }
}

/// What can be observed. It gives `observe` the exact class on which it is called.
public protocol _KeyValueCodingAndObserving {
  /// Whether observers are told of changes of this property.
  func _isObservable(_ key: String) -> Bool
  /// The value of a property.
  func value(forKey key: String) -> Any?
}

extension NSManagedObject: _KeyValueCodingAndObserving {
  /// Whether the model has the property.
  public final func _isObservable(_ key: String) -> Bool { layout.locations[key] != nil }
}

extension _KeyValueCodingAndObserving where Self: NSManagedObject {
  /// Calls the handler at each change of a modelled property: by accessors, key-value coding, the other end of a
  /// relationship, undo, or a refresh, which counts as a change of every property.
  ///
  /// The handler runs on the context's queue, where the change is made. The observation does not keep the object alive.
  /// Apple's key paths of several steps and dependent keys are missing.
  ///
  /// ```swift
  /// let observation = book.observe(\.title, options: [.old, .new]) { book, change in
  ///   print("\(change.oldValue ?? nil ?? "") became \(change.newValue ?? nil ?? "")")
  /// }
  /// book.title = "Emma"
  /// observation.invalidate()
  /// ```
  ///
  /// - Parameter keyPath: one property with a known name, as generated classes give it. Traps for others.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    guard let key = keyPath._kvcKeyPathString, _isObservable(key) else {
      fatalError("\(keyPath) cannot be observed: it is not known to be a property of the entity \(layout.name).")
    }
    return observe(keyPath, key: key, options: options, changeHandler)
  }
}

extension _KeyValueCodingAndObserving where Self: NSObject {
  func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, key: String, options: NSKeyValueObservingOptions,
    _ changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    let number = observeChanges(of: key, options, read: { $0[keyPath: keyPath] }) { object, change in
      changeHandler(
        object,
        NSKeyValueObservedChange(
          kind: change.kind, newValue: change.new as? Value, oldValue: change.old as? Value, indexes: nil,
          isPrior: change.isPrior))
    }
    return NSKeyValueObservation(of: self, number: number)
  }

  /// Calls the handler as the options say. Returns the observation's number.
  func observeChanges(
    of key: String, _ options: NSKeyValueObservingOptions, for subscriber: KeyValueObservers.Subscriber? = nil,
    read: @escaping (Self) -> Any?, _ handler: @escaping (Self, ObservedValues) -> Void
  ) -> Int {
    let number = KeyValueObservers.add(key, to: self, for: subscriber) { object, members in
      guard let object = object as? Self else { return { _ in } }
      var change = ObservedValues(kind: members?.kind ?? .setting)
      if options.contains(.old) { change.old = members.map { $0.value(of: .removal) } ?? read(object) }
      if options.contains(.prior) {
        change.isPrior = true
        handler(object, change)
        change.isPrior = false
      }
      return { [change] object in
        guard let object = object as? Self else { return }
        var change = change
        if options.contains(.new) { change.new = members.map { $0.value(of: .insertion) } ?? read(object) }
        handler(object, change)
      }
    }
    if options.contains(.initial) {
      handler(self, ObservedValues(kind: .setting, new: options.contains(.new) ? read(self) : nil, isInitial: true))
    }
    return number
  }
}

/// One change as observers are told of it, with the values that they asked for.
struct ObservedValues {
  let kind: NSKeyValueChange
  var new: Any?
  var old: Any?
  var isPrior = false
  var isInitial = false
}
