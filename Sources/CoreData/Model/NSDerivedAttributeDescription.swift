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
/// in memory sees the new value after a refresh. So it must be optional, unless the program sets a value: a new object
/// without one is refused (1570).
///
/// Use one for a value that many fetches compare or sort by: it is a column, which may have an index. SQLite keeps it
/// by triggers, so a program that writes to the file without Core Data cannot insert into such a table.
///
/// Source: Apple's documentation of `NSDerivedAttributeDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  /// How the value is computed: `pages.@count`, `canonical:(title)`, `now()`.
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
