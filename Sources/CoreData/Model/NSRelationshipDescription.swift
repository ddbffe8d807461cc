/// A relationship: a property that leads to one or many objects of an entity.
///
/// Source: Apple's documentation of `NSRelationshipDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSRelationshipDescription: NSPropertyDescription, @unchecked Sendable {
  /// The entity of the related objects. Held weakly: the model holds its entities.
  open var destinationEntity: NSEntityDescription? {
    get { destinationAnchor?.entity }
    set {
      checkEditable()
      destinationAnchor = newValue?.anchor
    }
  }

  private var destinationAnchor: EntityAnchor?

  /// The same tie seen from the destination. Held weakly: its entity holds it.
  open weak var inverseRelationship: NSRelationshipDescription? { willSet { checkEditable() } }

  /// The most related objects that may be saved; 0 means any number, 1 makes a to-one relationship. Default: 0.
  open var maxCount = 0 { willSet { checkEditable() } }

  /// The fewest related objects that may be saved, where there are any. Default: 0.
  open var minCount = 0 { willSet { checkEditable() } }

  /// What a delete does to the other side. Default: nullify.
  open var deleteRule: NSDeleteRule = .nullifyDeleteRule { willSet { checkEditable() } }

  /// Whether a to-many relationship keeps its objects in order. Default: false.
  open var isOrdered = false { willSet { checkEditable() } }

  /// Whether there may be more than one related object.
  open var isToMany: Bool { maxCount != 1 }

  override func makeEmpty() -> NSPropertyDescription {
    NSRelationshipDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSRelationshipDescription else { return }
    copy.destinationEntity = destinationEntity
    copy.inverseRelationship = inverseRelationship
    copy.maxCount = maxCount
    copy.minCount = minCount
    copy.deleteRule = deleteRule
    copy.isOrdered = isOrdered
  }

  /// The destination and the inverse count by their names.
  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSRelationshipDescription, super.hasSameValues(as: other) else { return false }
    return destinationEntity?.name == other.destinationEntity?.name
      && inverseRelationship?.name == other.inverseRelationship?.name && maxCount == other.maxCount
      && minCount == other.minCount && deleteRule == other.deleteRule && isOrdered == other.isOrdered
  }
}
