/// What each new row of a batch insertion must have: values where the model demands them, and numbers that fit.
///
/// Of the model's rules only these hold for a batch: predicates of validation and a class's methods do not run, as on
/// Apple's platforms. A row without a title, where `title` is mandatory, ends the batch with 1570 and nothing written.
package struct BatchRowRules {
  private let layout: EntityLayout
  private let mandatorySlots: [Int]
  private let narrowSlots: [(slot: Int, attribute: NSAttributeDescription, range: ClosedRange<Int64>?)]

  /// - Parameter slots: those that are stored.
  package init(_ layout: EntityLayout, slots: [Int]) {
    self.layout = layout
    let attributes = slots.filter { layout.slots[$0].kind != .toOne }
    mandatorySlots = attributes.filter { !layout.slots[$0].isOptional }
    narrowSlots = attributes.compactMap { slot in
      guard let attribute = layout.slots[slot].attribute, attribute.isNarrow else {
        return nil
      }
      return (slot, attribute, attribute.integerRange)
    }
  }

  /// Throws 1570, 1610 or 1620.
  package func check(_ row: Snapshot) throws {
    for slot in mandatorySlots where row.isNil(slot) {
      throw CoreDataErrors.error(
        .validationMissingMandatoryProperty, "\(layout.name).\(layout.slots[slot].name) needs a value.",
        [NSValidationKeyErrorKey: layout.slots[slot].name])
    }
    for (slot, attribute, range) in narrowSlots {
      if let range, let number = row.load(slot, as: Int64.self), range.contains(number) {
        continue
      }
      if let value = row.value(slot) { try attribute.checkWidth(value, "\(layout.name).\(attribute.name)") }
    }
  }
}
