/// What an observation wants to know. Raw values are Apple's.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The value after the change.
  public static let new = NSKeyValueObservingOptions(rawValue: 0x01)
  /// The value before the change.
  public static let old = NSKeyValueObservingOptions(rawValue: 0x02)
  /// A call at once, before `observe` returns.
  public static let initial = NSKeyValueObservingOptions(rawValue: 0x04)
  /// A call before each change besides the one after it.
  public static let prior = NSKeyValueObservingOptions(rawValue: 0x08)
}

/// What happened to an observed property. Raw values are Apple's.
public enum NSKeyValueChange: UInt, Sendable {
  /// It was set.
  case setting = 1
  /// Objects were added to a to-many relationship: the new value is these alone.
  case insertion = 2
  /// Objects were taken out of a to-many relationship: the old value is these alone.
  case removal = 3
  case replacement = 4
}

/// How `willChangeValue(forKey:withSetMutation:using:)` says that a set changes. Raw values are Apple's.
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  case union = 1
  case minus = 2
  case intersect = 3
  case set = 4
}

/// One change of an observed property, as far as the observation's options ask for it.
public struct NSKeyValueObservedChange<Value> {
  /// What happened to the property.
  public typealias Kind = NSKeyValueChange
  /// What happened to the property: it was set, or members came or went.
  public let kind: Kind
  /// The value after the change; with `.new`, and never in the call before it.
  public let newValue: Value?
  /// The value before the change; with `.old`.
  public let oldValue: Value?
  /// Always nil: ordered relationships tell no positions.
  public let indexes: IndexSet?
  /// Whether this is the call before the change.
  public let isPrior: Bool
}

/// A running observation: ends with `invalidate()`, or when nobody holds it any more.
public final class NSKeyValueObservation: NSObject {
  private let object: ObjectIdentifier
  private let number: Int

  init(of object: ObjectIdentifier, number: Int) {
    self.object = object
    self.number = number
  }

  /// Ends the observation; may be called on any thread, and more than once.
  public func invalidate() { KeyValueObservers.remove(number, of: object) }

  deinit { invalidate() }
}

/// What lets `observe` know the exact class that it is called on.
public protocol _KeyValueCodingAndObserving {}

extension NSManagedObject: _KeyValueCodingAndObserving {}

extension _KeyValueCodingAndObserving where Self: NSManagedObject {
  /// Calls the handler at each change of a modelled property, whoever makes it: accessors, key-value coding, the other
  /// end of a relationship, undo, or a refresh, which counts as a change of every property.
  ///
  /// The handler runs where the change is made, that is on the context's queue. The observation does not keep the
  /// object.
  /// - Parameter keyPath: one property, whose name must be known: generated classes see to that. Traps for others.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    guard let key = keyPath._kvcKeyPathString, layout.places[key] != nil else {
      fatalError("\(keyPath) cannot be observed: it is not known to be a property of the entity \(layout.name).")
    }
    func change(_ kind: NSKeyValueChange, new: Value?, old: Value?, isPrior: Bool) -> NSKeyValueObservedChange<Value> {
      NSKeyValueObservedChange(kind: kind, newValue: new, oldValue: old, indexes: nil, isPrior: isPrior)
    }
    let observation = KeyValueObservers.add(key, to: self) { object, members in
      guard let object = object as? Self else { return { _ in } }
      let old: Value? =
        options.contains(.old) ? (members.map { $0.value(of: .removal) as? Value } ?? object[keyPath: keyPath]) : nil
      let kind = members?.kind ?? .setting
      if options.contains(.prior) { changeHandler(object, change(kind, new: nil, old: old, isPrior: true)) }
      return { object in
        guard let object = object as? Self else { return }
        let new: Value? =
          options.contains(.new)
          ? (members.map { $0.value(of: .insertion) as? Value } ?? object[keyPath: keyPath]) : nil
        changeHandler(object, change(kind, new: new, old: old, isPrior: false))
      }
    }
    if options.contains(.initial) {
      changeHandler(
        self, change(.setting, new: options.contains(.new) ? self[keyPath: keyPath] : nil, old: nil, isPrior: false))
    }
    return observation
  }
}
