/// A property that holds a value: a number, a string, a date. See `NSAttributeType` for the kinds.
///
/// ```swift
/// let pages = NSAttributeDescription()
/// pages.name = "pages"
/// pages.type = .integer32
/// pages.isOptional = false
/// pages.defaultValue = 0
/// ```
///
/// Source: Apple's documentation of `NSAttributeDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSAttributeDescription: NSPropertyDescription, @unchecked Sendable {
  /// The kind of value. Setting it sets `attributeValueClassName` too. Default: undefined. Another kind is another
  /// version of the model, which no migration can infer (134190): use a mapping model.
  ///
  /// Part of the version hash. A class that reads the attribute with another type ends the process at the first access:
  /// see `Types of accessors` in the list of differences.
  open var attributeType: NSAttributeType = .undefinedAttributeType {
    willSet { checkEditable() }
    didSet { attributeValueClassName = attributeType.valueClassName }
  }

  /// `attributeType` in the spelling of newer code.
  ///
  /// Both spell the same setting; only this one can be written short, `.integer64`.
  public var type: AttributeType {
    get { AttributeType(rawValue: attributeType) }
    set { attributeType = newValue.rawValue }
  }

  /// The name of the values' class, such as "NSNumber"; nil if the kind fixes none. Setting `attributeType` sets it. No
  /// value is checked against it.
  open var attributeValueClassName: String? { willSet { checkEditable() } }

  /// The value of a newly inserted object, a number as `NSNumber`; nil for none. Lightweight migration gives it to rows
  /// that lack a mandatory value.
  ///
  /// ```swift
  /// let created = NSAttributeDescription()
  /// created.name = "created"
  /// created.type = .date
  /// created.defaultValue = Date(timeIntervalSinceReferenceDate: 0)
  /// ```
  ///
  /// All new objects share it, so it must not be mutable. Set values that differ, such as the present time or a new
  /// UUID, in `awakeFromInsert()`. It is no part of the version hash; objects that exist keep their values when it
  /// changes.
  open var defaultValue: Any? {
    willSet { checkEditable() }
    didSet { defaultValue = defaultValue.map(FoundationValue.number) }
  }

  /// The name under which the `ValueTransformer` is registered that turns a transformable value into data and back; nil
  /// for keyed archiving. Register the transformer before a store is opened, on each program that uses the store.
  ///
  /// ```swift
  /// let tags = NSAttributeDescription()
  /// tags.name = "tags"
  /// tags.type = .transformable
  /// tags.valueTransformerName = "NSSecureUnarchiveFromData"
  /// ```
  open var valueTransformerName: String? { willSet { checkEditable() } }

  /// Whether the store may keep large data in files beside it. Default: false. A SQLite store does so with more than
  /// 100 KB, in the folder `.NAME_SUPPORT/_EXTERNAL_DATA`, which belongs to the store's file: copy both, with
  /// `replacePersistentStore` or `StoreMaintenance`. Other stores keep the data in the row.
  ///
  /// ```swift
  /// let cover = NSAttributeDescription()
  /// cover.name = "cover"
  /// cover.type = .binaryData
  /// cover.allowsExternalBinaryDataStorage = true
  /// ```
  ///
  /// The file is read when the property's value is used, not when its row is fetched. A missing file is error 260: a
  /// fetch of filled objects throws it, and firing a fault ends the process with it, see
  /// `shouldHandleInaccessibleFault`.
  ///
  /// Source: Apple's documentation; the folder and the limit as Apple's stores have them.
  open var allowsExternalBinaryDataStorage = false { willSet { checkEditable() } }

  /// Whether the tombstone in persistent history keeps the value of a deleted object. Default: false. Set it for the
  /// attributes by which other systems know the object. It is part of the version hash.
  ///
  /// ```swift
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  /// if let result = try context.execute(request) as? NSPersistentHistoryResult,
  ///   let transactions = result.result as? [NSPersistentHistoryTransaction]
  /// {
  ///   for change in transactions.flatMap({ $0.changes ?? [] }) where change.changeType == .delete {
  ///     print(change.tombstone ?? [:])
  ///   }
  /// }
  /// ```
  open var preservesValueInHistoryOnDeletion = false { willSet { checkEditable() } }

  /// Kept with the model, without effect: this framework does not sync with CloudKit. Default: false.
  open var allowsCloudEncryption = false { willSet { checkEditable() } }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSAttributeDescription, super.hasSameValues(as: other) else { return false }
    return attributeType == other.attributeType && attributeValueClassName == other.attributeValueClassName
      && valueTransformerName == other.valueTransformerName && SameValues.of(defaultValue, other.defaultValue)
      && allowsExternalBinaryDataStorage == other.allowsExternalBinaryDataStorage
      && preservesValueInHistoryOnDeletion == other.preservesValueInHistoryOnDeletion
      && allowsCloudEncryption == other.allowsCloudEncryption
  }

  /// The value of a new object; a composite attribute computes it from its elements.
  package var initialValue: Any? { defaultValue }

  /// Whether validation can refuse a value or the lack of one.
  var hasRules: Bool { !isOptional || !validationPredicates.isEmpty }

  /// Whether the attribute holds integers of fewer bits than `Int64`, whose width validation checks.
  var isNarrow: Bool { integerRange != nil }

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
