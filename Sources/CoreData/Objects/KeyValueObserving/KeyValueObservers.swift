internal import Synchronization

/// Who observes which objects: beside the objects, so that those that nobody observes cost nothing.
///
/// An object's `isObserved` says that it is worth looking here.
enum KeyValueObservers {
  /// Called before a change; returns what to call after it.
  typealias Handler = (NSManagedObject, ObservedMembers?) -> (NSManagedObject) -> Void

  private struct Observer {
    let number: Int
    let key: String
    let handler: Handler
  }

  private struct Entry {
    weak var object: NSManagedObject?
    var observers: [Observer]
  }

  /// `@unchecked Sendable`: handlers are called on their object's queue only; other threads take them out at most.
  private struct Observed: @unchecked Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    var lastNumber = 0
  }

  private static let observed = Mutex(Observed())

  static func add(_ key: String, to object: NSManagedObject, _ handler: @escaping Handler) -> NSKeyValueObservation {
    object.state.insert(.isObserved)
    let id = ObjectIdentifier(object)
    let added = Entry(object: object, observers: [Observer(number: 0, key: key, handler: handler)])
    let boxed = Carried(value: added)
    let number = observed.withLock { observed in
      observed.lastNumber += 1
      // An object that is gone may have left its address to this one.
      if observed.entries[id]?.object == nil { observed.entries[id] = Entry(object: boxed.value.object, observers: []) }
      observed.entries[id]?.observers.append(
        Observer(number: observed.lastNumber, key: key, handler: boxed.value.observers[0].handler))
      return observed.lastNumber
    }
    return NSKeyValueObservation(of: id, number: number)
  }

  static func remove(_ number: Int, of object: ObjectIdentifier) {
    // What the handler holds is let go of outside of the lock.
    let removed = observed.withLock { observed -> Carried<Observer>? in
      guard let index = observed.entries[object]?.observers.firstIndex(where: { $0.number == number }) else {
        return nil
      }
      let observer = observed.entries[object]?.observers.remove(at: index)
      if observed.entries[object]?.observers.isEmpty == true { observed.entries[object] = nil }
      return observer.map(Carried.init)
    }
    withExtendedLifetime(removed) {}
  }

  /// The handlers for a property of the object, or for all; each with its key, in the order of their beginning.
  fileprivate static func handlers(of object: NSManagedObject, _ key: String?) -> [Handler] {
    let id = ObjectIdentifier(object)
    let found = observed.withLock { observed in
      Carried(value: observed.entries[id]?.observers.filter { key == nil || $0.key == key }.map(\.handler) ?? [])
    }
    return found.value
  }

  /// `@unchecked Sendable`: made and used on one thread; the lock's closure alone stands between.
  private struct Carried<Value>: @unchecked Sendable { let value: Value }
}

/// The objects that come into a to-many relationship or leave it, where not the whole is set.
struct ObservedMembers {
  let kind: NSKeyValueChange
  let objects: [NSManagedObject]
  let isOrdered: Bool

  /// The objects, as the value for one side of the change.
  func value(of side: NSKeyValueChange) -> Any? {
    guard kind == side else { return nil }
    return isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
  }
}

/// A change of an observed property that is under way.
final class ObservedChange {
  private let object: NSManagedObject
  private let afterwards: [(NSManagedObject) -> Void]

  /// Tells the observers of the property, or of all properties, what is about to happen; nil where there are none.
  init?(of object: NSManagedObject, key: String?, members: ObservedMembers? = nil) {
    let handlers = KeyValueObservers.handlers(of: object, key)
    guard !handlers.isEmpty else { return nil }
    self.object = object
    afterwards = handlers.map { $0(object, members) }
  }

  /// Tells them that it has happened.
  func finish() {
    for handler in afterwards { handler(object) }
  }
}

extension NSManagedObject {
  /// Comes before each change of a property: nil where nobody observes it, else what must be finished after the change.
  @inline(__always)
  final func willChangeObserved(_ key: @autoclosure () -> String) -> ObservedChange? {
    guard state.contains(.isObserved) else { return nil }
    return ObservedChange(of: self, key: key())
  }

  /// Comes before a change of who knows which properties.
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
