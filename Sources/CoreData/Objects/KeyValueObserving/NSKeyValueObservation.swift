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
  /// The kind of the change.
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

/// A running observation. It ends with `invalidate()`, or when it is released.
public final class NSKeyValueObservation: NSObject {
  private let object: ObjectIdentifier
  private let number: Int

  init(of object: ObjectIdentifier, number: Int) {
    self.object = object
    self.number = number
  }

  /// Ends the observation. Any thread; further calls do nothing.
  public func invalidate() { KeyValueObservers.remove(number, of: object) }

  deinit { invalidate() }
}

/// Gives `observe` the exact class on which it is called.
public protocol _KeyValueCodingAndObserving {}

extension NSManagedObject: _KeyValueCodingAndObserving {}

extension _KeyValueCodingAndObserving where Self: NSManagedObject {
  /// Calls the handler at each change of a modelled property: by accessors, key-value coding, the other end of a
  /// relationship, undo, or a refresh, which counts as a change of every property.
  ///
  /// The handler runs on the context's queue, where the change is made. The observation does not keep the object alive.
  /// Apple's key paths of several steps and dependent keys are missing.
  /// - Parameter keyPath: one property with a known name, as generated classes give it. Traps for others.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    guard let key = keyPath._kvcKeyPathString, layout.locations[key] != nil else {
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
