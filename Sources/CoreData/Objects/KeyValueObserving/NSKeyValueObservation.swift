/// The values and calls that an observation asks for. Raw values are Apple's.
///
/// ```swift
/// let observation = book.observe(\.pages, options: [.initial, .old, .new]) { book, change in
///   print(change.oldValue as Any, change.newValue as Any)  // nil and the present value at first
/// }
/// defer { observation.invalidate() }
/// ```
///
/// Ask only for values that the handler uses: each costs a reading of the property, which for a to-many relationship
/// makes a set.
///
/// Source: Apple's documentation of `NSKeyValueObservingOptions`.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The value after the change.
  ///
  /// The property is read again after the change. Of an insertion into a to-many relationship the value holds the
  /// inserted objects only.
  public static let new = NSKeyValueObservingOptions(rawValue: 0x01)
  /// The value before the change.
  ///
  /// The property is read before the change, which fills a fault. Of a removal from a to-many relationship the value
  /// holds the removed objects only.
  public static let old = NSKeyValueObservingOptions(rawValue: 0x02)
  /// Calls the handler once before `observe` returns.
  ///
  /// The kind is `.setting`, and only the new value is there, if it is asked for. So the handler can also show the
  /// first value.
  public static let initial = NSKeyValueObservingOptions(rawValue: 0x04)
  /// Calls the handler before each change too.
  ///
  /// The handler is called twice for each change: before it with `isPrior` and without a new value, and after it.
  public static let prior = NSKeyValueObservingOptions(rawValue: 0x08)
}

/// The kind of a change of an observed property. Raw values are Apple's.
///
/// ```swift
/// let observation = author.observe(\.books) { author, change in
///   switch change.kind {
///   case .insertion: print("more books:", author.books?.count ?? 0)
///   case .removal: print("fewer books:", author.books?.count ?? 0)
///   case .setting, .replacement: print("other books")
///   }
/// }
/// observation.invalidate()
/// ```
///
/// Only to-many relationships have other kinds than `.setting`, and only when single members come or go: an assignment
/// of the whole relationship, a new order, a refresh and an undo of a row are `.setting`.
///
/// Source: Apple's documentation of `NSKeyValueChange`.
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
///
/// Observers are told `.insertion` for a union, `.removal` for a difference, and `.setting` for the other two. The
/// change itself is made by the caller between the two calls.
///
/// Source: Apple's documentation of `NSKeyValueSetMutationKind`.
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
///
/// It lives for the call of the handler. A property of an optional type has a doubly optional value here: nil means
/// that the option is missing or that the call comes before the change, and `.some(nil)` that the property has no
/// value. Where the difference does not matter, write `change.newValue ?? nil`.
///
/// ```swift
/// let observation = book.observe(\.title, options: .new) { _, change in
///   print((change.newValue ?? nil) ?? "no title")
/// }
/// observation.invalidate()
/// ```
///
/// Source: Apple's documentation of `NSKeyValueObservedChange`.
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

/// A running observation. `invalidate()` ends it, and so does its release: keep it as long as you want to hear of
/// changes. An observed object costs a look-up in a table at each change; others cost nothing.
///
/// ```swift
/// final class Header {
///   private var observation: NSKeyValueObservation?
///
///   func show(_ book: Book) {
///     // The former observation ends with its token.
///     observation = book.observe(\.title, options: [.initial, .new]) { book, _ in print(book.title ?? "") }
///   }
/// }
/// ```
///
/// What happens otherwise: a token that is dropped at once, as in `_ = book.observe(…)`, observes nothing.
///
/// Source: Apple's documentation of `NSKeyValueObservation`.
public final class NSKeyValueObservation: NSObject {
  private let object: ObjectIdentifier
  private let number: Int

  init(of object: NSObject, number: Int) {
    self.object = ObjectIdentifier(object)
    self.number = number
  }

  /// Ends the observation. Any thread; further calls do nothing.
  ///
  /// A handler that is running on another thread finishes. A change that has begun still calls the handler afterwards.
  ///
  /// Source: Apple's documentation of `invalidate()`.
  public func invalidate() { KeyValueObservers.remove(number, of: object) }

  deinit { invalidate() }
}

/// What can be observed. It gives `observe` the exact class on which it is called.
///
/// A protocol and not a method of the class: `Self` in an extension of a protocol is the class of the variable, so that
/// `book.observe(\.title)` takes key paths of `Book`. The name is that of Foundation's protocol on Apple's platforms.
/// `NSManagedObject` and `NSMigrationManager` conform; programs conform no type to it.
public protocol _KeyValueCodingAndObserving {
  /// Whether observers are told of changes of this property.
  ///
  /// False makes `observe` and `addObserver` trap, rather than observe what never reports.
  func _isObservable(_ key: String) -> Bool
  /// The value of a property.
  ///
  /// Observers by name read old and new values with it.
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
  /// Key paths of several steps and dependent keys, which Apple's framework has, are not supported.
  ///
  /// ```swift
  /// let observation = book.observe(\.title, options: [.old, .new]) { book, change in
  ///   print("\(change.oldValue ?? nil ?? "") became \(change.newValue ?? nil ?? "")")
  /// }
  /// book.title = "Emma"
  /// observation.invalidate()
  /// ```
  ///
  /// Call it on the context's queue. The closure must not retain the object that keeps the token: neither would be
  /// freed. Each change then costs a look into a table and the readings that the options ask for.
  ///
  /// - Parameters:
  ///   - keyPath: one property with a known name, as generated classes give it. Traps for others.
  ///   - options: which values the handler gets, and whether it is called at once or before changes too. Default: none.
  ///   - changeHandler: called after each change with the object, so that the closure need not retain it.
  /// - Returns: the observation. Keep it: it ends when it is released.
  ///
  /// Source: Apple's documentation of `observe(_:options:changeHandler:)`.
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
  /// For classes whose key paths have names of another origin: `NSMigrationManager` names its three properties itself.
  func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, key: String, options: NSKeyValueObservingOptions,
    _ changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    let number = observeChanges(of: key, options, read: { .some($0[keyPath: keyPath]) }) { object, change in
      changeHandler(
        object,
        NSKeyValueObservedChange(
          kind: change.kind, newValue: change.new.flatMap { $0 as? Value },
          oldValue: change.old.flatMap { $0 as? Value }, indexes: nil, isPrior: change.isPrior))
    }
    return NSKeyValueObservation(of: self, number: number)
  }

  /// Calls the handler as the options say. Returns the observation's number.
  ///
  /// Both forms of observing end here. The handler is registered before the `initial` call, so that a change in that
  /// call is reported.
  ///
  /// - Parameters:
  ///   - subscriber: who can remove it by name; nil for a token.
  ///   - read: the value as this observer gets it, by key path or by name.
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
///
/// Without types, for observers by key path and by name alike. `new` and `old` are nil where the options do not ask for
/// them. For an observer by key path a nil of the property is a value of its optional type; for one by name it is nil.
struct ObservedValues {
  let kind: NSKeyValueChange
  var new: Any?
  var old: Any?
  var isPrior = false
  var isInitial = false
}
