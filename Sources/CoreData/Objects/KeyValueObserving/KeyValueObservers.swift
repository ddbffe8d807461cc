internal import Synchronization

/// The observers of objects. The table is beside the objects, so that unobserved ones cost nothing.
///
/// A managed object's `isObserved` says whether it may be in the table.
enum KeyValueObservers {
  /// Called before a change. Returns the code to call after it.
  typealias Handler = (NSObject, ObservedMembers?) -> (NSObject) -> Void

  /// Who observes by name, and under which context.
  struct Subscriber: Equatable {
    let observer: ObjectIdentifier
    let context: UnsafeMutableRawPointer?
  }

  private struct Observer {
    let number: Int
    let key: String
    let subscriber: Subscriber?
    let handler: Handler
  }

  private struct Entry {
    weak var object: NSObject?
    var observers: [Observer]
  }

  /// `@unchecked Sendable`: handlers run on their object's queue only; other threads only remove and release them.
  private struct Observed: @unchecked Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    var lastNumber = 0
  }

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
final class ObservedChange {
  private let object: NSObject
  private let afterwards: [(NSObject) -> Void]

  /// Tells the observers of one property, or of all, before the change. Nil if there are none.
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
  @inline(__always)
  final func willChangeObserved(_ key: @autoclosure () -> String) -> ObservedChange? {
    guard state.contains(.isObserved) else { return nil }
    return ObservedChange(of: self, key: key())
  }

  /// Called before a change of unknown properties.
  final func willChangeAllObserved() -> ObservedChange? {
    guard state.contains(.isObserved) else { return nil }
    return ObservedChange(of: self, key: nil)
  }

  final func willChangeObserved(inserting object: NSManagedObject, into toMany: ToMany) -> ObservedChange? {
    guard state.contains(.isObserved), toMany.knows(object) != true else { return nil }
    return memberChange(.insertion, object, toMany.relationship)
  }

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
