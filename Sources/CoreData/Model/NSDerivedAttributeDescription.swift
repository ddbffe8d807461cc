/// An attribute whose value the store computes when it saves.
///
/// ```swift
/// let count = NSDerivedAttributeDescription()
/// count.name = "bookCount"
/// count.type = .integer64
/// count.derivationExpression = NSExpression(format: "books.@count")
/// ```
///
/// SQLite stores compute the forms that Apple documents: copies, `canonical:` and the like, `now()`, and aggregates
/// over a to-many relationship; other derivations stay nil there. Stores in memory compute every derivation. An object
/// in memory has the new value only after a refresh, so leave the attribute optional: a save refuses a new object
/// without a mandatory value (1570).
///
/// Use one for a value that many fetches compare or sort by: it is a column, which may have an index. Triggers in the
/// SQLite file keep it right, whichever program writes. A program without Core Data cannot write to the table if the
/// derivation has a text function such as `canonical:`, which SQLite lacks, or if Apple's framework made the file.
///
/// Source: Apple's documentation of `NSDerivedAttributeDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  /// How the store computes the value, in one of these forms:
  ///
  /// ```text
  /// author.name                  a copy, also over one to-one relationship
  /// canonical:(title)            without case and accents; also uppercase: and lowercase:
  /// now()                        the time of the object's last save
  /// books.@count                 the number of members of a to-many relationship
  /// books.@sum.pages             also @min, @max, @avg of an attribute of the members
  /// ```
  ///
  /// It is part of the version hash, so another derivation needs a migration. Default: nil, which derives nothing.
  open var derivationExpression: NSExpression? { willSet { checkEditable() } }

  override func makeEmpty() -> NSPropertyDescription {
    NSDerivedAttributeDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSDerivedAttributeDescription else { return }
    copy.derivationExpression = derivationExpression
  }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSDerivedAttributeDescription else { return false }
    return super.hasSameValues(as: other) && derivationExpression == other.derivationExpression
  }
}
