/// An attribute: a property that holds a value.
///
/// Source: Apple's documentation of `NSAttributeDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSAttributeDescription: NSPropertyDescription, @unchecked Sendable {
  /// The kind of value. Setting it sets `attributeValueClassName` too. Default: undefined.
  open var attributeType: NSAttributeType = .undefinedAttributeType {
    willSet { checkEditable() }
    didSet { attributeValueClassName = attributeType.valueClassName }
  }

  /// The kind of value, in the spelling of newer code.
  public var type: AttributeType {
    get { AttributeType(rawValue: attributeType) }
    set { attributeType = newValue.rawValue }
  }

  /// The name of the class of the values.
  open var attributeValueClassName: String? { willSet { checkEditable() } }

  /// The value in a newly inserted object.
  open var defaultValue: Any? { willSet { checkEditable() } }

  /// The name of the `ValueTransformer` that turns a transformable value into data.
  open var valueTransformerName: String? { willSet { checkEditable() } }

  /// Whether the store may keep large data in files beside it. Default: false.
  open var allowsExternalBinaryDataStorage = false { willSet { checkEditable() } }

  /// Whether persistent history keeps the value when the object is deleted. Default: false.
  open var preservesValueInHistoryOnDeletion = false { willSet { checkEditable() } }

  /// Kept as the model says; nothing here syncs with CloudKit. Default: false.
  open var allowsCloudEncryption = false { willSet { checkEditable() } }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSAttributeDescription, super.hasSameValues(as: other) else { return false }
    return attributeType == other.attributeType && attributeValueClassName == other.attributeValueClassName
      && valueTransformerName == other.valueTransformerName && SameValues.of(defaultValue, other.defaultValue)
      && allowsExternalBinaryDataStorage == other.allowsExternalBinaryDataStorage
      && preservesValueInHistoryOnDeletion == other.preservesValueInHistoryOnDeletion
      && allowsCloudEncryption == other.allowsCloudEncryption
  }

  /// What a new object has, as the model says.
  var initialValue: Any? { defaultValue }

  /// Whether a value may be invalid.
  var hasRules: Bool { !isOptional || !validationPredicates.isEmpty }

  override func makeEmpty() -> NSPropertyDescription {
    NSAttributeDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSAttributeDescription else { return }
    copy.attributeType = attributeType
    copy.attributeValueClassName = attributeValueClassName
    copy.defaultValue = defaultValue
    copy.valueTransformerName = valueTransformerName
    copy.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    copy.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    copy.allowsCloudEncryption = allowsCloudEncryption
  }
}
