/// An attribute made of several attributes, its elements; its value is a dictionary by element name.
///
/// Source: Apple's documentation of `NSCompositeAttributeDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  /// The parts, each an attribute; one may be composite itself.
  open var elements: [NSAttributeDescription] = [] { willSet { checkEditable() } }

  public override init() {
    super.init()
    attributeType = .compositeAttributeType
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSCompositeAttributeDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSCompositeAttributeDescription else { return }
    copy.elements = elements.compactMap { $0.copyOfSelf() as? NSAttributeDescription }
  }
}
