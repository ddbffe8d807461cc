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
/// It caches its slots in the last few entities that it was used with. It may be used on any thread, the objects on
/// their context's queue only.
///
/// Make one for each property and keep it, as a static constant of the class; one that is made for each access does the
/// look-up each time. The first use in an entity traps if the entity has no such property, or if only one of the
/// accessor and the property is a relationship.
///
/// A read costs a load of the cache, a comparison, and the load of the slot. `value(forKey:)` costs a look-up by name,
/// and a box for the value.
///
/// Not part of Apple's API: `@NSManaged` accessors of a class that the build plugin reads use it, where Apple's runtime
/// makes methods.
///
/// `@unchecked Sendable`: adds no state to `ManagedPropertyKey`.
public final class ManagedProperty<Value>: ManagedPropertyKey, @unchecked Sendable {}

/// The part of `ManagedProperty` that does not depend on the type of the value.
///
/// Separate, so that the functions that take it are compiled once and not for each type of value.
///
/// `@unchecked Sendable`: the name is constant and the cache consists of atomic words. Only `ManagedProperty` inherits
/// from it and adds nothing.
public class ManagedPropertyKey: @unchecked Sendable {
  /// The name of the property in the model, by which it is found in each entity.
  public let name: String
  /// The serial number of each of the last layouts used, with the slot in the low 12 bits; 0 at first. The serial
  /// number gives the layout's index: those of one model's entities are consecutive.
  ///
  /// ```text
  /// cache[serial & 3]   | serial of the layout (52 bits) | slot (12 bits) |
  /// ```
  ///
  /// Entities of one model have consecutive serials, so four of them, such as an entity with three subentities, do not
  /// replace each other's entries. One word is read and written at a time: two threads that use the property in two
  /// models overwrite each other's answer, and each then asks again. No order is needed between the word and anything
  /// else, hence `relaxed`.
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
  ///
  /// O(1). The result of -1 is not cached, since the slot's number would not tell that the types differ.
  @inline(__always)
  final func slot(in layout: EntityLayout, _ kind: SlotKind) -> Int {
    let cached = cache[Int(layout.serial & 3)].load(ordering: .relaxed)
    if cached >> 12 == layout.serial { return Int(cached & 0xfff) }
    return find(layout, kind)
  }

  /// Called once for each property and entity, and for each access of an accessor with another storage than the
  /// attribute's. Slots from 4095 on do not fit the cache and are looked up each time.
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
///
/// The generic functions are inlined into the witnesses of `ManagedValue`, where both the kind and the type are
/// constants: what remains of a getter is the look into the cache, the test of the object's state, and one load.
extension NSManagedObject {
  /// - Parameters:
  ///   - kind: how values of the accessor's type are kept; the slot must be of this kind or of one with equal storage.
  ///   - type: the type of the bytes in the slot, such as `Int64` for every integer accessor.
  @inline(__always)
  final func read<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ type: T.Type) -> T? {
    let slot = property.slot(in: layout, kind)
    if slot < 0 { return convertedValue(property, kind) }
    return T.load(accessSlots(reading: slot) + slot)
  }

  /// The value of an attribute that is kept in another way than those of the accessor's type. Traps if it cannot be of
  /// that type.
  ///
  /// For an accessor whose type differs from the attribute's, such as `Int32` over a Double attribute: correct, and as
  /// slow as key-value coding.
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
  ///
  /// The conversion to the attribute's type is that of `setValue(_:forKey:)`.
  @inline(never)
  private final func setConverted<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ value: T?) {
    switch (kind, value) {
    case (.boxed, let box as Boxed): setPropertyValue(box.value, forKey: property.name)
    case (.date, let seconds as Double):
      setPropertyValue(Date(timeIntervalSinceReferenceDate: seconds), forKey: property.name)
    default: setPropertyValue(value, forKey: property.name)
    }
  }

  /// Apart from `read`, because texts that are read twice are kept (`ReadTexts`).
  @inline(__always)
  final func readText(_ property: ManagedPropertyKey) -> String? {
    let slot = property.slot(in: layout, .string)
    if slot < 0 { return convertedValue(property, .string) }
    return text(slot, among: accessSlots(reading: slot))
  }

  /// The order is that of every setter: observers before, the object's own copy of the row, the slot, observers after.
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
