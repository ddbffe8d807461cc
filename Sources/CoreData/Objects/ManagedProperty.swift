internal import Synchronization

/// A property by name that finds its place in an object without a look-up by name each time: what generated accessors
/// stand on.
///
///     extension Person {
///       static let ageProperty = ManagedProperty<Int64>("age")
///       var age: Int64 { get { self[Person.ageProperty] } set { self[Person.ageProperty] = newValue } }
///     }
///
/// Remembers the slot in the entity that it was last used with, so it is quickest when one entity uses it.
public final class ManagedProperty<Value>: ManagedPropertyKey, @unchecked Sendable {}

/// What is the same for properties of all types.
public class ManagedPropertyKey: @unchecked Sendable {
  // `@unchecked Sendable`: the name is constant and the cache is one atomic word. The class is open to `ManagedProperty`
  // alone, which adds nothing.
  public let name: String
  /// The serial number of the layout last used, and the slot in it, in the low 12 bits; 0 at first.
  private let cache = Atomic<UInt64>(0)

  public init(_ name: String) { self.name = name }

  @inline(__always)
  final func slot(in layout: EntityLayout) -> Int {
    let known = cache.load(ordering: .relaxed)
    if known >> 12 == layout.serial { return Int(known & 0xfff) }
    return find(layout)
  }

  @inline(never)
  private final func find(_ layout: EntityLayout) -> Int {
    guard let slot = layout.slot(name) else {
      fatalError("The entity \(layout.name) has no attribute or to-one relationship \"\(name)\".")
    }
    if slot < 0xfff { cache.store(layout.serial << 12 | UInt64(slot), ordering: .relaxed) }
    return slot
  }
}

/// Typed reading and writing of attributes. As with `value(forKey:)`, on the context's queue only. Reading a nil through a
/// type that has none gives zero, false, or an empty value, as scalar accessors do.
extension NSManagedObject {
  @inline(__always)
  private func read<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ type: T.Type) -> T? {
    let slot = property.slot(in: layout)
    assert(layout.slots[slot].kind == kind, "\(layout.name).\(property.name) is not of the type \(T.self).")
    return T.load(accessSlots() + slot)
  }

  @inline(__always)
  private func write<T: SlotValue>(_ property: ManagedPropertyKey, _ kind: SlotKind, _ value: T?) {
    let slot = property.slot(in: layout)
    assert(layout.slots[slot].kind == kind, "\(layout.name).\(property.name) is not of the type \(T.self).")
    let observed = willChangeObserved(property.name)
    willEdit()
    if let value { T.assign(accessSlots() + slot, value) } else { snapshot.unsafelyUnwrapped.setNil(slot) }
    observed?.finish()
  }

  public final subscript(property: ManagedProperty<Int64>) -> Int64 {
    get { read(property, .integer, Int64.self) ?? 0 }
    set { write(property, .integer, newValue) }
  }

  public final subscript(property: ManagedProperty<Int64?>) -> Int64? {
    get { read(property, .integer, Int64.self) }
    set { write(property, .integer, newValue) }
  }

  public final subscript(property: ManagedProperty<Int32>) -> Int32 {
    get { Int32(truncatingIfNeeded: read(property, .integer, Int64.self) ?? 0) }
    set { write(property, .integer, Int64(newValue)) }
  }

  public final subscript(property: ManagedProperty<Int16>) -> Int16 {
    get { Int16(truncatingIfNeeded: read(property, .integer, Int64.self) ?? 0) }
    set { write(property, .integer, Int64(newValue)) }
  }

  public final subscript(property: ManagedProperty<Bool>) -> Bool {
    get { (read(property, .boolean, Int64.self) ?? 0) != 0 }
    set { write(property, .boolean, newValue ? 1 : 0 as Int64) }
  }

  public final subscript(property: ManagedProperty<Double>) -> Double {
    get { read(property, .double, Double.self) ?? 0 }
    set { write(property, .double, newValue) }
  }

  public final subscript(property: ManagedProperty<Float>) -> Float {
    get { Float(read(property, .float, Double.self) ?? 0) }
    set { write(property, .float, Double(newValue)) }
  }

  public final subscript(property: ManagedProperty<String>) -> String {
    get { read(property, .string, String.self) ?? "" }
    set { write(property, .string, newValue) }
  }

  public final subscript(property: ManagedProperty<String?>) -> String? {
    get { read(property, .string, String.self) }
    set { write(property, .string, newValue) }
  }

  public final subscript(property: ManagedProperty<Date?>) -> Date? {
    get { read(property, .date, Double.self).map(Date.init(timeIntervalSinceReferenceDate:)) }
    set { write(property, .date, newValue?.timeIntervalSinceReferenceDate) }
  }

  public final subscript(property: ManagedProperty<Data?>) -> Data? {
    get { read(property, .data, Data.self) }
    set { write(property, .data, newValue) }
  }

  public final subscript(property: ManagedProperty<UUID?>) -> UUID? {
    get { read(property, .boxed, Boxed.self)?.value as? UUID }
    set { write(property, .boxed, newValue.map { Boxed($0) }) }
  }

  /// The object at the other end of a to-one relationship.
  public final subscript<Object: NSManagedObject>(property: ManagedProperty<Object?>) -> Object? {
    get { related(property.slot(in: layout)) as? Object }
    set { setRelated(newValue, slot: property.slot(in: layout)) }
  }
}
