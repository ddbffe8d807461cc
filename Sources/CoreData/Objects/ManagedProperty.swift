internal import Synchronization

/// A property that finds its slot in an object without a look-up by name each time. Generated accessors use it.
///
/// ```swift
/// final class Person: NSManagedObject {
///   static let ageProperty = ManagedProperty<Int64>("age")
///   var age: Int64 { get { self[Person.ageProperty] } set { self[Person.ageProperty] = newValue } }
/// }
/// ```
///
/// It remembers its slots in the few entities that it was last used with. Safe on any thread; the objects are not.
///
/// `@unchecked Sendable`: adds no state to `ManagedPropertyKey`.
public final class ManagedProperty<Value>: ManagedPropertyKey, @unchecked Sendable {}

/// The part of `ManagedProperty` that does not depend on the type of the value.
///
/// `@unchecked Sendable`: the name is constant and the cache consists of atomic words. Only `ManagedProperty` inherits
/// from it and adds nothing.
public class ManagedPropertyKey: @unchecked Sendable {
  /// The name of the property in the model, by which it is found in each entity.
  public let name: String
  /// The serial number of each of the last layouts used, with the slot in the low 12 bits; 0 at first. The serial
  /// number gives the layout's index: those of one model's entities are consecutive.
  private let cache: UnsafeMutablePointer<Atomic<UInt64>>
  private static let cacheSize = 4

  /// Makes the property with this name. Whether an entity has it is seen at the first use.
  public init(_ name: String) {
    self.name = name
    cache = .allocate(capacity: ManagedPropertyKey.cacheSize)
    for index in 0..<ManagedPropertyKey.cacheSize { (cache + index).initialize(to: Atomic(0)) }
  }

  deinit { cache.deallocate() }

  /// The property's slot; -1 for an attribute whose values are kept in another way than those of the accessor's type.
  /// Traps if there is no such property, and if only one of the accessor and the property is a relationship.
  @inline(__always)
  final func slot(in layout: EntityLayout, _ kind: SlotKind) -> Int {
    let cached = cache[Int(layout.serial & 3)].load(ordering: .relaxed)
    if cached >> 12 == layout.serial { return Int(cached & 0xfff) }
    return find(layout, kind)
  }

  @inline(never)
  private final func find(_ layout: EntityLayout, _ kind: SlotKind) -> Int {
    guard let slot = layout.slot(name) else {
      fatalError("The entity \(layout.name) has no attribute or to-one relationship \"\(name)\".")
    }
    let description = layout.slots[slot]
    require(
      (description.kind == .toOne) == (kind == .toOne),
      "\(layout.name).\(name) holds "
        + "\(description.kind == .toOne ? "an object" : description.attributeType.valueDescription)"
        + ", and its accessor is of another type.")
    if description.kind.storage != kind.storage { return -1 }
    if slot < 0xfff {
      cache[Int(layout.serial & 3)].store(layout.serial << 12 | UInt64(slot), ordering: .relaxed)
    }
    return slot
  }
}

/// Reads and writes slots, on the context's queue only, like `value(forKey:)`.
extension NSManagedObject {
  @inline(__always)
  final func read<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ type: T.Type) -> T? {
    let slot = property.slot(in: layout, kind)
    if slot < 0 { return convertedValue(property, kind) }
    return T.load(accessSlots(reading: slot) + slot)
  }

  /// The value of an attribute that is kept in another way than those of the accessor's type. Traps if it cannot be of
  /// that type.
  @inline(never)
  private final func convertedValue<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind) -> T? {
    guard let value = propertyValue(forKey: property.name) else { return nil }
    let converted: Any? =
      switch kind {
      case .integer, .boolean: AttributeValue.integer(value)
      case .double, .float: AttributeValue.double(value)
      case .date: (value as? Date)?.timeIntervalSinceReferenceDate
      case .string: value as? String
      case .data: value as? Data
      case .boxed: Boxed(value)
      case .toOne: nil
      }
    guard let converted = converted as? T else {
      fatalError("\(layout.name).\(property.name) holds a \(type(of: value)), and its accessor is of another type.")
    }
    return converted
  }

  /// Sets an attribute whose values are kept in another way than those of the accessor's type. Traps if it cannot hold
  /// the value.
  @inline(never)
  private final func setConverted<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ value: T?) {
    switch (kind, value) {
    case (.boxed, let box as Boxed): setPropertyValue(box.value, forKey: property.name)
    case (.date, let seconds as Double):
      setPropertyValue(Date(timeIntervalSinceReferenceDate: seconds), forKey: property.name)
    default: setPropertyValue(value, forKey: property.name)
    }
  }

  @inline(__always)
  final func readText(_ property: ManagedPropertyKey) -> String? {
    let slot = property.slot(in: layout, .string)
    if slot < 0 { return convertedValue(property, .string) }
    return text(slot, among: accessSlots(reading: slot))
  }

  @inline(__always)
  final func write<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ value: T?) {
    let slot = property.slot(in: layout, kind)
    if slot < 0 { return setConverted(property, kind, value) }
    let observed = willChangeObserved(property.name)
    willEdit()
    if let value {
      T.assign(snapshot.unsafelyUnwrapped.slots + slot, value)
    } else {
      snapshot.unsafelyUnwrapped.setNil(slot)
    }
    observed?.finish()
  }
}

extension SlotKind {
  /// Kinds with equal storage can be read as each other: a Bool as an integer, a date as its seconds.
  fileprivate var storage: SlotKind {
    switch self {
    case .boolean: .integer
    case .date: .double
    default: self
    }
  }
}
