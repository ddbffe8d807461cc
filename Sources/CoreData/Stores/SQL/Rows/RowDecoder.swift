/// A stored property of a row: its slot and its columns. Plain numbers, so that a row costs no reference counting.
///
/// For `Book.author` with subentities of `Author`: `column` is that of ZAUTHOR, `entityColumn` that of Z1_AUTHOR,
/// `destination` is 1. Without subentities `entityColumn` is -1, and every key leads to an entity of the number
/// `destination`.
@usableFromInline
package struct RowStep: Sendable {
  @usableFromInline let kind: SlotKind
  @usableFromInline let type: NSAttributeType
  @usableFromInline package let slot: Int
  /// Whether its value may be in a file.
  @usableFromInline let isExternal: Bool
  @usableFromInline var column: Int32 = 0
  /// The column of the destination's actual entity; -1 if it is always `destination`.
  @usableFromInline var entityColumn: Int32 = -1
  @usableFromInline var destination: Int64 = 0

  init(_ property: TableMapping.StoredProperty) {
    kind = property.description.kind
    type = property.description.attributeType
    slot = property.slot
    isExternal = property.description.attribute?.allowsExternalBinaryDataStorage ?? false
  }
}

/// Copies the columns of one entity's row into a slab.
///
/// `@unchecked Sendable`: everything is set in `init`.
///
/// ```text
/// SELECT t0.Z_PK, t0.Z_OPT, t0.ZAUTHOR, t0.ZISREAD, t0.ZPAGES, t0.ZTITLE
///           1        2          1          1            342      The Dispossessed
///           |        |          |          |            |        |
///           key      version    slot 0     slot 1       slot 2   slot 3
///                               toOne      boolean      integer  string: its bytes go behind the slots
/// ```
///
/// The key is not in the snapshot: who asked for the row knows it. NULL leaves the slot as `RowPacker.begin` made it,
/// nil.
///
/// It runs for each row of each fetch and allocates nothing but slabs: the steps lie in memory of their own, numbers
/// are copied, and texts become a `String` only when a program reads the property.
@usableFromInline
package final class RowDecoder: @unchecked Sendable {
  /// A composite attribute, and the column of each of its elements.
  struct Composite: Sendable {
    let slot: Int
    let leaves: [(leaf: CompositeColumns.Leaf, column: Int32)]
  }

  @usableFromInline package let storedEntity: StoredEntity
  @usableFromInline let layout: EntityLayout
  /// In memory of their own, so that a row costs no reference counting.
  @usableFromInline let steps: UnsafeMutableBufferPointer<RowStep>
  private let composites: [Composite]
  @usableFromInline let hasComposites: Bool

  init(storedEntity: StoredEntity, steps: [RowStep], composites: [Composite]) {
    self.storedEntity = storedEntity
    layout = storedEntity.layout
    self.steps = .allocate(capacity: steps.count)
    _ = self.steps.initialize(from: steps)
    self.composites = composites
    hasComposites = !composites.isEmpty
  }

  deinit { steps.deallocate() }

  @inlinable
  @inline(__always)
  package func decode(_ cells: some RowCells, _ packer: RowPacker) throws -> Snapshot {
    var row = packer.begin(layout)
    let slots = row.slots
    for index in steps.indices {
      let step = steps[index]
      let slot = slots + step.slot
      switch step.kind {
      case .integer: if let value = cells.integer(step.column) { Int64.initialize(slot, to: value) }
      case .boolean: if let value = cells.boolean(step.column) { Int64.initialize(slot, to: value) }
      case .double, .float: if let value = cells.double(step.column) { Double.initialize(slot, to: value) }
      case .date: if let value = cells.date(step.column) { Double.initialize(slot, to: value) }
      case .string: if let text = cells.text(step.column) { row.add(text, to: slot) }
      case .toOne:
        let key = cells.key(step.column)
        if key == 0 { continue }
        let number = step.entityColumn >= 0 ? cells.key(step.entityColumn) : 0
        RelatedKey.initialize(slot, to: RelatedKey(key: key, number: number == 0 ? step.destination : number))
      case .data, .boxed:
        do {
          // By its place: the compiler would copy a step that it passes on, whatever its kind.
          if try decodeReference(at: index, cells, into: slot) { row.holdsReferences = true }
        } catch {
          packer.abandon(row, layout)
          throw error
        }
      }
    }
    if hasComposites {
      do {
        if try decodeComposites(cells, into: slots) { row.holdsReferences = true }
      } catch {
        packer.abandon(row, layout)
        throw error
      }
    }
    return packer.finish(row, layout, version: cells.key(1))
  }

  /// Whether the column has a value.
  @inlinable
  @inline(never)
  func decodeReference(
    at index: Int, _ cells: some RowCells, into slot: UnsafeMutablePointer<SnapshotSlot>
  ) throws -> Bool {
    let step = steps[index]
    if case .data = step.kind {
      guard let data = try cells.data(step.column, isExternal: step.isExternal, in: storedEntity) else { return false }
      Data.initialize(slot, to: data)
    } else {
      let attribute = layout.slots[step.slot].attribute
      guard let value = try cells.value(step.column, as: step.type, of: attribute, in: storedEntity) else {
        return false
      }
      Boxed.initialize(slot, to: Boxed(value))
    }
    return true
  }

  /// Whether the row has a composite value.
  @usableFromInline
  func decodeComposites(_ cells: some RowCells, into slots: UnsafeMutablePointer<SnapshotSlot>) throws -> Bool {
    var hasValue = false
    for composite in composites {
      guard let elements = try cells.composite(composite.leaves, in: storedEntity) else { continue }
      Boxed.initialize(slots + composite.slot, to: Boxed(elements))
      hasValue = true
    }
    return hasValue
  }
}
