/// Writes the stored values of one entity's rows, column after column: the counterpart of `RowDecoder`.
///
/// `@unchecked Sendable`: everything is set in `init`.
///
/// Its positions are what a `StepSet` counts: for `Book` 0 is `author`, 1 `isRead`, 2 `pages`, 3 `title`. Derived
/// attributes have none, since the database writes them; transient ones neither.
@usableFromInline
package final class RowEncoder: @unchecked Sendable {
  package let mapping: TableMapping
  /// The properties that are written, in the order of their slots.
  package let steps: [RowStep]
  /// The columns of each step, in the order in which it writes them: one, or one for each element, or the key's and the
  /// entity's.
  package let columns: [[StoredColumns.Column]]
  /// Their positions are those of the steps.
  package let properties: WrittenProperties
  /// The elements of composite attributes, by slot.
  private let composites: [Int: [CompositeColumns.Leaf]]

  package init(_ mapping: TableMapping, layout: EntityLayout, _ constraints: [UniqueConstraint]) {
    self.mapping = mapping
    let written = mapping.writtenProperties(layout)
    var composites: [Int: [CompositeColumns.Leaf]] = [:]
    steps = written.map { property in
      var step = RowStep(property)
      switch property.columns {
      case .toOne(let toOne): if toOne.entityColumn != nil { step.entityColumn = 0 }
      case .composite(let composite): composites[property.slot] = composite.leaves
      case .attribute: break
      }
      return step
    }
    columns = written.map { $0.columns.columns($0.description.attribute) }
    properties = WrittenProperties(layout, written, constraints)
    self.composites = composites
  }

  /// The columns of changed properties, in the order in which they are written.
  package func columns(of changed: StepSet) -> [StoredColumns.Column] { changed.positions.flatMap { columns[$0] } }

  /// Writes the columns of a step.
  ///
  /// A to-one relationship to an object that this save inserts has its temporary, negative key in the slot. `resolve`
  /// has the permanent one; without one (the object was not saved) NULL is written.
  ///
  /// - Parameter resolve: the permanent key for a temporary one.
  @inlinable
  @inline(__always)
  package func write<Cells: CellWriter & ~Copyable>(
    _ step: RowStep, of row: Snapshot, to cells: inout Cells, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws(Cells.Failure) {
    let slot = step.slot
    switch step.kind {
    case .integer: if let value = row.load(slot, as: Int64.self) { cells.integer(value) } else { cells.null() }
    case .boolean: if let value = row.load(slot, as: Int64.self) { cells.boolean(value) } else { cells.null() }
    case .double, .float: if let value = row.load(slot, as: Double.self) { cells.double(value) } else { cells.null() }
    case .date: if let value = row.load(slot, as: Double.self) { try cells.date(value) } else { cells.null() }
    case .string: if let value = row.load(slot, as: String.self) { try cells.text(value) } else { cells.null() }
    case .toOne:
      let related = row.related(slot).flatMap { $0.key < 0 ? resolve($0) : $0 }
      if let related { cells.integer(related.key) } else { cells.null() }
      if step.entityColumn < 0 { return }
      if let related { cells.integer(related.number) } else { cells.null() }
    case .data, .boxed: try writeReference(step, of: row, to: &cells)
    }
  }

  /// A composite writes all its elements, also if one only has changed: its slot has one dictionary, and what changed
  /// in it is not known.
  @usableFromInline
  func writeReference<Cells: CellWriter & ~Copyable>(
    _ step: RowStep, of row: Snapshot, to cells: inout Cells
  ) throws(Cells.Failure) {
    if case .data = step.kind {
      guard let value = row.load(step.slot, as: Data.self) else { return cells.null() }
      return cells.data(value, isExternal: step.isExternal)
    }
    let value = row.load(step.slot, as: Boxed.self)?.value
    guard step.type == .compositeAttributeType else {
      guard let attribute = row.layout.slots[step.slot].attribute else { return cells.null() }
      return try cells.value(value, of: attribute)
    }
    let elements = value as? [String: Any] ?? [:]
    for leaf in composites[step.slot] ?? [] { try cells.value(leaf.value(in: elements), of: leaf.attribute) }
  }
}
