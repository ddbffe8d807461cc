internal import Synchronization

/// The observers of objects. The table is beside the objects, so that unobserved ones cost nothing: no property in each
/// object, no subclass made at run time as on Apple's platforms.
///
/// A managed object's `isObserved` says whether it may be in the table. It is set with the first observer and never
/// cleared: a change of an object that was observed once costs a look-up.
///
/// One change, as a setter makes it:
///
/// ```text
/// willChangeObserved("title")          handlers of (object, "title"), copied under the lock
///   handler(object, members)           reads the old value if `.old`, calls the program if `.prior`
///                                      returns what to do afterwards
/// the slot is written
/// finish()                             reads the new value if `.new`, calls the program
/// ```
///
/// The handlers run outside the lock, since they call the program, which may observe or change other objects. So an
/// observer that is removed by a handler of the same change still hears of that change.
enum KeyValueObservers {
  /// Called before a change. Returns the code to call after it.
  ///
  /// Two functions in one, so that the old value waits in a constant between them: nothing has to be kept in the table,
  /// and nested changes do not overwrite each other's.
  typealias Handler = (NSObject, ObservedMembers?) -> (NSObject) -> Void

  /// Who observes by name, and under which context.
  ///
  /// Only for observers by name; a closure is found by its number.
  struct Subscriber: Equatable {
    let observer: ObjectIdentifier
    let context: UnsafeMutableRawPointer?
  }

  /// The number is unique in the process and never used again.
  private struct Observer {
    let number: Int
    let key: String
    let subscriber: Subscriber?
    let handler: Handler
  }

  /// Weak, because the table must not keep objects. An entry whose object is freed stays until another object at the
  /// same address is observed or its observers are removed: an observation that ends with its token removes it.
  private struct Entry {
    weak var object: NSObject?
    var observers: [Observer]
  }

  /// `@unchecked Sendable`: handlers run on their object's queue only; other threads only remove and release them.
  private struct Observed: @unchecked Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    var lastNumber = 0
  }

  /// One lock for the process. It is taken at each change of an observed object and at each beginning and end of an
  /// observation, for a few comparisons.
  private static let observed = Mutex(Observed())

  /// Returns the number by which the handler is removed.
  static func add(
    _ key: String, to object: NSObject, for subscriber: Subscriber? = nil, _ handler: @escaping Handler
  ) -> Int {
    (object as? NSManagedObject)?.state.insert(.isObserved)
    let id = ObjectIdentifier(object)
    let boxed = Carried(value: (object: object, subscriber: subscriber, handler: handler))
    return observed.withLock { observed in
      let (object, subscriber, handler) = boxed.value
      observed.lastNumber += 1
      // A freed object may have left its address to this one.
      if observed.entries[id]?.object == nil { observed.entries[id] = Entry(object: object, observers: []) }
      observed.entries[id]?.observers.append(
        Observer(number: observed.lastNumber, key: key, subscriber: subscriber, handler: handler))
      return observed.lastNumber
    }
  }

  /// Called on any thread, by the token's `deinit` too; the number makes it safe where the object's address has been
  /// used again.
  static func remove(_ number: Int, of object: ObjectIdentifier) {
    removeLast(of: object) { $0.number == number }
  }

  /// Removes the last observation of a property by a subscriber, under any context or under one; false if there is
  /// none.
  static func remove(
    _ observer: ObjectIdentifier, _ key: String, under context: UnsafeMutableRawPointer??, of object: ObjectIdentifier
  ) -> Bool {
    // An address is only compared.
    let context = context.map { UInt(bitPattern: $0) }
    return removeLast(of: object) { candidate in
      guard let subscriber = candidate.subscriber, subscriber.observer == observer else { return false }
      return candidate.key == key && (context == nil || context == UInt(bitPattern: subscriber.context))
    }
  }

  /// Of equal observations the last one goes, as on Apple's platforms.
  @discardableResult
  private static func removeLast(of object: ObjectIdentifier, where isWanted: @Sendable (Observer) -> Bool) -> Bool {
    // The handler is released outside of the lock, because it may release other observations.
    let removed = observed.withLock { observed -> Carried<Observer>? in
      guard let index = observed.entries[object]?.observers.lastIndex(where: isWanted) else { return nil }
      let observer = observed.entries[object]?.observers.remove(at: index)
      if observed.entries[object]?.observers.isEmpty == true { observed.entries[object] = nil }
      return observer.map(Carried.init)
    }
    return withExtendedLifetime(removed) { removed != nil }
  }

  /// The handlers for one property of the object, or for all with their keys, in the order in which they were added.
  ///
  /// An entry of a freed object at the same address cannot be found: the object that asks is alive and observed, so
  /// `add` has replaced it.
  fileprivate static func handlers(of object: NSObject, _ key: String?) -> [Handler] {
    let id = ObjectIdentifier(object)
    let handlers = observed.withLock { observed in
      Carried(value: observed.entries[id]?.observers.filter { key == nil || $0.key == key }.map(\.handler) ?? [])
    }
    return handlers.value
  }

  /// `@unchecked Sendable`: created and used on one thread, only passed through the lock's closure.
  private struct Carried<Value>: @unchecked Sendable { let value: Value }
}

/// The objects that a change adds to a to-many relationship or removes from it, if it does not set the whole.
///
/// Observers of `addToBooks` hear of the one book, not of ten thousand: kind `.insertion` with the new value,
/// `.removal` with the old.
struct ObservedMembers {
  let kind: NSKeyValueChange
  let objects: [NSManagedObject]
  let isOrdered: Bool

  /// The objects as the value of one side of the change.
  func value(of side: NSKeyValueChange) -> Any? {
    guard kind == side else { return nil }
    return isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
  }
}

/// A change of an observed property that has begun.
///
/// Made before a change, kept in a local constant, ended by `finish()`. If the change turns out to be none, it is
/// dropped without `finish()`, and observers hear of nothing after it.
final class ObservedChange {
  private let object: NSObject
  private let afterwards: [(NSObject) -> Void]

  /// Tells the observers of one property, or of all, before the change. Nil if there are none.
  ///
  /// Nil is the usual result for an object whose other property is observed.
  init?(of object: NSObject, key: String?, members: ObservedMembers? = nil) {
    let handlers = KeyValueObservers.handlers(of: object, key)
    guard !handlers.isEmpty else { return nil }
    self.object = object
    afterwards = handlers.map { $0(object, members) }
  }

  /// Tells the observers after the change.
  func finish() {
    for handler in afterwards { handler(object) }
  }
}

extension NSManagedObject {
  /// Called before each change of a property. Nil if it has no observer, else call `finish()` after the change.
  ///
  /// The name is an autoclosure: taking it out of a description costs a retain, which the unobserved objects do not
  /// pay.
  @inline(__always)
  final func willChangeObserved(_ key: @autoclosure () -> String) -> ObservedChange? {
    guard state.contains(.isObserved) else { return nil }
    return ObservedChange(of: self, key: key())
  }

  /// Called before a change of unknown properties.
  ///
  /// For a refresh, a roll-back, a merge and a merge policy, which replace the whole row: every observer is asked for
  /// its old value, and told afterwards, equal or not.
  final func willChangeAllObserved() -> ObservedChange? {
    guard state.contains(.isObserved) else { return nil }
    return ObservedChange(of: self, key: nil)
  }

  /// Nil if the object is known to be a member: adding it again is no change.
  final func willChangeObserved(inserting object: NSManagedObject, into toMany: ToMany) -> ObservedChange? {
    guard state.contains(.isObserved), toMany.knows(object) != true else { return nil }
    return memberChange(.insertion, object, toMany.relationship)
  }

  /// Nil if the object is known not to be a member.
  final func willChangeObserved(removing object: NSManagedObject, from toMany: ToMany) -> ObservedChange? {
    guard state.contains(.isObserved), toMany.knows(object) != false else { return nil }
    return memberChange(.removal, object, toMany.relationship)
  }

  private final func memberChange(
    _ kind: NSKeyValueChange, _ object: NSManagedObject, _ relationship: NSRelationshipDescription
  ) -> ObservedChange? {
    ObservedChange(
      of: self, key: relationship.name,
      members: ObservedMembers(kind: kind, objects: [object], isOrdered: relationship.isOrdered))
  }
}
