/// An attribute whose value the store computes from others when it saves.
///
/// Source: Apple's documentation of `NSDerivedAttributeDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  /// How the value is computed, as the model file writes it: "pages.@count", "canonical:(title)", "now()".
  var derivationText: String? { willSet { checkEditable() } }

  override func makeEmpty() -> NSPropertyDescription {
    NSDerivedAttributeDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSDerivedAttributeDescription else { return }
    copy.derivationText = derivationText
  }
}
