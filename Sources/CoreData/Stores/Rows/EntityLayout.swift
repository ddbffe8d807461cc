internal import Synchronization

/// The layout of snapshots of an entity's objects: one slot for each attribute and each to-one relationship.
///
/// Slots are ordered by entity, the root first, and by name within an entity. So a property has the same slot in every
/// subentity, and a compiled accessor may remember it.
///
/// `@unchecked Sendable`: everything is set in `init`; the default snapshot is immutable; looking up the class by name
/// always gives the same answer. `endWithModel` runs when no context has the model any more.
///
/// For `Novel`, a subentity of `Book`:
///
/// ```text
/// slot   property   of      kind        the same slot in Book
/// 0      author     Book    toOne       0
/// 1      isRead     Book    boolean     1
/// 2      pages      Book    integer     2
/// 3      title      Book    string      3
/// 4      genre      Novel   string      –
/// toManys: none                         an object keeps their members apart, by index
/// ```
///
/// It also has what an object's class does beyond the model: overridden methods, validation methods, whether it wakes.
/// These are looked for once for each entity, so that an entity of plain `NSManagedObject` pays for none of them.
@usableFromInline
package final class EntityLayout: @unchecked Sendable {
  let entity: NSEntityDescription
  package let name: String
  @usableFromInline package let slots: [SlotDescription]
  @usableFromInline package let slotCount: Int
  /// The bytes of a row without texts.
  @usableFromInline let fixedByteCount: Int
  /// The bytes of a snapshot without values.
  @usableFromInline let nilSlots: UnsafePointer<SnapshotSlot>
  /// The kind of each slot.
  let kinds: UnsafePointer<SlotKind>
  let toManys: [NSRelationshipDescription]
  let fetchedProperties: [NSFetchedPropertyDescription]
  /// Where an object keeps the value of each property of the entity.
  let locations: KeyTable
  /// The slots that hold references, which must be released.
  let referenceSlots: [Int]
  /// The slots of to-one relationships.
  let toOneSlots: [Int]
  let hasRelationships: Bool
  let hasTransients: Bool
  /// Whether a transient attribute has a default value.
  let hasTransientDefaults: Bool
  let hasDerived: Bool
  /// The properties that are in an index of the entity, as the model says.
  let indexedNames: Set<String>
  let objectClass: NSManagedObject.Type
  /// The slots that validation checks: mandatory ones and those with predicates.
  let validatedSlots: [ValidatedSlot]
  let validatedToManys: [Int]
  /// Whether the class overrides `value(forKey:)`.
  let classReadsValues: Bool
  /// Whether the class may have values for keys that the entity lacks.
  let answersUndefinedKeys: Bool
  /// The class's methods that validate one property each.
  let validations: [String: ManagedValidation]
  /// Whether the class overrides `validateValue(_:forKey:)`, or has methods that it calls.
  let classValidatesValues: Bool
  /// Whether an object does something when it gets its row: it sets transient attributes, or its class overrides
  /// `awakeFromFetch()`.
  let wakes: Bool
  /// What a save has to ask objects of the entity.
  private(set) var saveHooks: SaveHooks = []
  /// The stored entity of unsaved objects.
  var temporaryEntity: StoredEntity { keptTemporaryEntity ?? makeTemporaryEntity() }
  private var keptTemporaryEntity: StoredEntity?
  /// A snapshot of the default values, copied for each new object.
  package var defaults: Snapshot { keptDefaults ?? makeDefaults() }
  private var keptDefaults: Snapshot?

  /// The layout's number, unique in the process, by which accessors recognise it.
  @usableFromInline package let serial: UInt64
  private static let lastSerial = Atomic<UInt64>(0)

  /// Runs with the first use of an entity, when its model cannot change any more. It also looks the class of its
  /// objects up by name, in all modules of the process.
  init(_ entity: NSEntityDescription) {
    serial = EntityLayout.lastSerial.add(1, ordering: .relaxed).newValue
    let places = PropertyPlaces(entity)
    let (slots, toManys) = (places.slots, places.toManys)
    self.entity = entity
    self.name = entity.name ?? ""
    self.slots = slots
    self.slotCount = slots.count
    self.fixedByteCount = MemoryLayout<RowStart>.size + slots.count * MemoryLayout<SnapshotSlot>.stride
    let nilSlots = UnsafeMutablePointer<SnapshotSlot>.allocate(capacity: max(1, slots.count))
    for (index, slot) in slots.enumerated() { (nilSlots + index).initialize(to: .nilSlot(slot.kind)) }
    self.nilSlots = UnsafePointer(nilSlots)
    let kinds = UnsafeMutablePointer<SlotKind>.allocate(capacity: max(1, slots.count))
    for (index, slot) in slots.enumerated() { (kinds + index).initialize(to: slot.kind) }
    self.kinds = UnsafePointer(kinds)
    // The compiler knows the sizes: the check costs nothing.
    require(
      MemoryLayout<String?>.size <= MemoryLayout<SnapshotSlot>.size
        && MemoryLayout<Data?>.size <= MemoryLayout<SnapshotSlot>.size,
      "A String or Data does not fit into a slot of a row: this version of CoreData does not know Swift's layout "
        + "of them."
    )
    self.toManys = toManys
    self.fetchedProperties = places.fetched
    self.locations = KeyTable(places.locations)
    self.referenceSlots = slots.indices.filter { slots[$0].kind.holdsReference }
    self.hasTransients = slots.contains(where: \.isTransient)
    self.hasTransientDefaults = slots.contains {
      $0.isTransient && $0.attribute?.initialValue != nil
    }
    self.hasDerived = slots.contains(where: \.isDerived)
    self.indexedNames = entity.indexedNames
    self.toOneSlots = slots.indices.filter { slots[$0].kind == .toOne }
    self.hasRelationships = !toOneSlots.isEmpty || !toManys.isEmpty
    self.validatedSlots = slots.indices.compactMap { ValidatedSlot(slot: $0, slots[$0]) }
    self.validatedToManys = toManys.indices.filter {
      toManys[$0].minCount > 0 || toManys[$0].maxCount > 1 || !toManys[$0].validationPredicates.isEmpty
    }
    self.objectClass = EntityLayout.lookUpClass(entity)
    self.classReadsValues = OverriddenMethods.overrides(.value, objectClass)
    self.answersUndefinedKeys = classReadsValues || OverriddenMethods.overrides(.undefinedValue, objectClass)
    self.validations = KeyPathNames.validations(of: objectClass)
    self.classValidatesValues = !validations.isEmpty || OverriddenMethods.overrides(.validateValue, objectClass)
    self.wakes = hasTransients || OverriddenMethods.overrides(.awakeFromFetch, objectClass)
    self.saveHooks = SaveHooks(self)
    self.keptTemporaryEntity = makeTemporaryEntity()
    self.keptDefaults = makeDefaults()
  }

  private func makeTemporaryEntity() -> StoredEntity {
    StoredEntity(layout: self, collection: nil, number: 0, table: StoredEntity.temporaryTable)
  }

  private func makeDefaults() -> Snapshot {
    let defaults = Snapshot.make(self)
    for (index, slot) in slots.enumerated() {
      if let value = slot.attribute?.initialValue {
        defaults.set(value, slot: index, of: entity)
      }
    }
    return defaults
  }

  /// Lets go of what refers to this layout. Objects that outlive their model make it anew.
  fileprivate func endWithModel() { (keptTemporaryEntity, keptDefaults) = (nil, nil) }

  deinit {
    nilSlots.deallocate()
    kinds.deallocate()
  }

  /// Whether the class may have a value for a key that the entity lacks.
  func computes(_ key: String) -> Bool {
    answersUndefinedKeys || KeyPathNames.keyPath(named: key, of: objectClass) != nil
  }

  func slot(_ key: String) -> Int? {
    if case .slot(let index) = locations[key] { index } else { nil }
  }

  /// The slots of properties that the store holds.
  func storedSlots(of properties: Set<String>) -> Set<Int> {
    Set(slots.indices.filter { !slots[$0].isTransient && properties.contains(slots[$0].name) })
  }

  func toManyIndex(_ key: String) -> Int? {
    if case .toMany(let index) = locations[key] { index } else { nil }
  }

  /// The class that the model names, in any module; `NSManagedObject` if there is none.
  private static func lookUpClass(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    guard let name = entity.managedObjectClassName, !name.isEmpty, name != "NSManagedObject" else {
      return NSManagedObject.self
    }
    switch ManagedClasses.find(name, preferring: entity.productModuleName) {
    case .found(let type): return type
    case .none: return NSManagedObject.self
    case .ambiguous(let candidates):
      let sentence =
        "CoreData: the class \(name) of the entity \(entity.name ?? "") may be "
        + "\(candidates.joined(separator: " or ")); NSManagedObject is used. Write the module into the model."
      FileHandle.standardError.write(Data((sentence + "\n").utf8))
      return NSManagedObject.self
    }
  }
}

/// Where an object keeps a property's value.
enum PropertyLocation {
  case slot(Int)
  case toMany(Int)
  case fetched(Int)
}

/// A slot that validation checks.
///
/// Most values are plainly valid: a mandatory title is there, a number fits. `isPlainlyValid` says so without boxing
/// the value; only what is left goes through the model's predicates.
struct ValidatedSlot {
  let slot: Int
  private let kind: SlotKind
  /// Whether any value will do that fits the type: it need not be converted for the model's rules.
  private let hasNoPredicates: Bool
  private let isOptional: Bool
  private let integerRange: ClosedRange<Int64>?

  /// Nil for a slot that needs no validation.
  init?(slot: Int, _ description: SlotDescription) {
    let attribute = description.attribute
    guard description.needsValidation || attribute?.isNarrow == true else { return nil }
    self.slot = slot
    kind = description.kind
    hasNoPredicates =
      description.property.validationPredicates.isEmpty && description.attributeType != .compositeAttributeType
    isOptional = description.isOptional
    integerRange = attribute?.integerRange
  }

  /// Whether the value is seen to be valid where it lies. If not, the model's rules tell.
  func isPlainlyValid(in values: Snapshot) -> Bool {
    guard hasNoPredicates else { return false }
    if values.slots[slot].isNil(kind) { return isOptional }
    guard let integerRange, let number = values.load(slot, as: Int64.self) else { return true }
    return integerRange.contains(number)
  }
}

/// The use of a slot's sixteen bytes.
@usableFromInline
package enum SlotKind: UInt8, Sendable {
  /// Int64 in the first eight bytes: the integer attributes.
  case integer
  case boolean
  /// Double in the first eight bytes; a Float attribute's value is kept as the equal Double.
  case double
  case float
  /// Seconds since 2001-01-01 00:00 UTC.
  case date
  case string
  case data
  /// One reference to a `Boxed` value: Decimal, UUID, URL, transformable, composite.
  case boxed
  /// `RelatedKey`.
  case toOne

  var holdsReference: Bool {
    switch self {
    case .string, .data, .boxed: true
    case .integer, .boolean, .double, .float, .date, .toOne: false
    }
  }
}

/// A copy of what the model says of the property: reading it here needs no call of an open class.
@usableFromInline
package struct SlotDescription {
  package let property: NSPropertyDescription
  /// The property, if it is an attribute.
  @usableFromInline package let attribute: NSAttributeDescription?
  package let kind: SlotKind
  let attributeType: NSAttributeType
  let isTransient: Bool
  /// Whether the store computes the value: it is never written, and known only after it was read.
  package let isDerived: Bool
  let isOptional: Bool
  let needsValidation: Bool

  package var name: String { property.name }
  var relationship: NSRelationshipDescription? { property as? NSRelationshipDescription }
  var composite: NSCompositeAttributeDescription? {
    attributeType == .compositeAttributeType ? property as? NSCompositeAttributeDescription : nil
  }

  init(_ attribute: NSAttributeDescription) {
    property = attribute
    self.attribute = attribute
    attributeType = attribute.attributeType
    isTransient = attribute.isTransient
    isDerived = attribute is NSDerivedAttributeDescription
    isOptional = attribute.isOptional
    needsValidation = attribute.hasRules
    kind =
      switch attribute.attributeType {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: .integer
      case .booleanAttributeType: .boolean
      case .doubleAttributeType: .double
      case .floatAttributeType: .float
      case .dateAttributeType: .date
      case .stringAttributeType: .string
      case .binaryDataAttributeType: .data
      default: .boxed
      }
  }

  init(_ relationship: NSRelationshipDescription) {
    property = relationship
    attribute = nil
    attributeType = .undefinedAttributeType
    isTransient = relationship.isTransient
    isDerived = false
    isOptional = relationship.isOptional
    needsValidation = !relationship.isOptional || !relationship.validationPredicates.isEmpty
    kind = .toOne
  }
}

/// An entity's layout, built at its first use. The entity's model must not change any more by then.
///
/// Double-checked: the flag is stored with release order after the layout, and loaded with acquire order before it, so
/// who sees the flag sees the layout. The lock is taken once for each entity and thread that comes early.
final class EntityLayoutCache: Sendable {
  private let lock = Mutex(())
  /// `nonisolated(unsafe)`: set once under the lock, followed by the flag, before which nothing reads it. Cleared with
  /// the model's end, when nothing uses it.
  nonisolated(unsafe) private var layout: EntityLayout?
  private let isSet = Atomic(false)

  func layout(of entity: NSEntityDescription) -> EntityLayout {
    if isSet.load(ordering: .acquiring) { return layout.unsafelyUnwrapped }
    return lock.withLock { _ in
      if let layout { return layout }
      let made = EntityLayout(entity)
      layout = made
      isSet.store(true, ordering: .releasing)
      return made
    }
  }

  func clear() {
    isSet.store(false, ordering: .relaxed)
    layout?.endWithModel()
    layout = nil
  }
}

extension NSEntityDescription {
  package var layout: EntityLayout { layoutCache.layout(of: self) }
}

/// The place of each property of an entity, those of superentities first.
private struct PropertyPlaces {
  var slots: [SlotDescription] = []
  var toManys: [NSRelationshipDescription] = []
  var fetched: [NSFetchedPropertyDescription] = []
  var locations: [String: PropertyLocation] = [:]

  init(_ entity: NSEntityDescription) {
    for ancestor in sequence(first: entity, next: \.superentity).reversed() {
      for property in ancestor.declaredProperties.sorted(on: { $0.name }) { add(property) }
    }
  }

  private mutating func add(_ property: NSPropertyDescription) {
    switch property {
    case let attribute as NSAttributeDescription:
      locations[attribute.name] = .slot(slots.count)
      slots.append(SlotDescription(attribute))
    case let relationship as NSRelationshipDescription where relationship.isToMany:
      locations[relationship.name] = .toMany(toManys.count)
      toManys.append(relationship)
    case let relationship as NSRelationshipDescription:
      locations[relationship.name] = .slot(slots.count)
      slots.append(SlotDescription(relationship))
    case let property as NSFetchedPropertyDescription:
      locations[property.name] = .fetched(fetched.count)
      fetched.append(property)
    default: break
    }
  }
}
