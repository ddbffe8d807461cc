/// One side of a comparison, before it becomes SQL.
///
/// `SQLGenerator.operand` makes them, `compare` consumes two of them.
enum SQLOperand {
  /// A value that is known without the database.
  case constant(PredicateValue)
  /// A value of each row.
  case scalar(SQL, SQLType)
  /// A row: its key, and the entity's number if the relationship may lead to subentities.
  case object(key: SQL, entityColumn: SQL?, TableMapping)
  case toMany(SQLToMany)
  /// `{a, b}` with members that are not all constant.
  case aggregate([SQLOperand])
}

/// The type of an expression's values, as far as comparisons depend on it.
///
/// It is not the type of the attribute: several attribute types compare alike, and an expression has a type without an
/// attribute. `decimal` is apart from `number` because of SQLite: a decimal column holds integers and REALs beside each
/// other, as the values happen to be.
package enum SQLType: Equatable {
  case number
  /// A whole number in every row.
  case integer
  /// A number whose column may store whole values as integers. It must not take part in integer division.
  case decimal
  case date
  case text
  case uuid
  case uri
  case data
  /// An entity, as its number in this store.
  case entity
  /// Bytes in another form: transformables, and binary data that may be stored outside. Only NULL can be recognised.
  case opaque

  /// A Boolean is a whole number: `isRead == YES` compares with 1, and `sum:(isRead)` counts the read books.
  package init(_ type: NSAttributeType) {
    self =
      switch type {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType: .integer
      case .doubleAttributeType, .floatAttributeType: .number
      case .decimalAttributeType: .decimal
      case .dateAttributeType: .date
      case .stringAttributeType: .text
      case .UUIDAttributeType: .uuid
      case .URIAttributeType: .uri
      case .binaryDataAttributeType: .data
      case .undefinedAttributeType, .transformableAttributeType, .objectIDAttributeType, .compositeAttributeType:
        .opaque
      }
  }

  package var isNumeric: Bool { self == .number || self == .integer || self == .decimal }

  /// Whether SQLite adds the stored values as `PredicateValue.summand` counts them.
  var isSummable: Bool { self != .opaque && self != .entity }

  /// Whether values of the two types can be equal, and have an order.
  func isComparable(with other: SQLType) -> Bool {
    self == other || (isNumeric && other.isNumeric)
  }

  /// The constant in the form for comparing with a value of this type; nil if the kinds differ, so that they are
  /// unequal.
  ///
  /// A decimal constant that is whole and fits becomes an integer, so that SQLite compares integers exactly; others
  /// become the nearest Double, which is what the column's REAL is compared with.
  func bound(_ constant: PredicateValue) -> SQLiteValue? {
    switch (self, constant) {
    case (.number, .integer(let value)), (.integer, .integer(let value)), (.decimal, .integer(let value)):
      .integer(value)
    case (.number, .real(let value)), (.integer, .real(let value)), (.decimal, .real(let value)): .real(value)
    case (.number, .decimal(let value)), (.integer, .decimal(let value)), (.decimal, .decimal(let value)):
      Int64(value.description).map { .integer($0) } ?? .real(NSDecimalNumber(decimal: value).doubleValue)
    case (.date, .date(let seconds)): .real(seconds)
    case (.text, .string(let value)): .text(value)
    case (.uuid, .uuid(let value)): .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case (.uri, .url(let value)): .text(value)
    case (.data, .data(let value)): .blob(value)
    default: nil
    }
  }
}

/// The members of a to-many relationship, and the question about each.
///
/// It waits until something says what to do with the members: `ANY` and `IN` make EXISTS of it, an operator such as
/// `@count` a scalar subquery. Whatever else comes is the error `toManyWithoutModifier`.
struct SQLToMany {
  let owner: SQLScope
  let name: String
  let mapping: ToManyMapping
  /// The keys after the relationship.
  var remainingKeys: [String]
  /// The meaning of the filter's key paths and variables.
  let environment: SQLEnvironment
  /// A SUBQUERY's condition on the members.
  var filter: (variable: String, predicate: NSPredicate)?
  /// The values that are not nil, all or distinct: `@unionOfObjects` and `@distinctUnionOfObjects`.
  var union: Union?

  enum Union { case all, distinct }

  var path: String { ([name] + remainingKeys).joined(separator: ".") }
}
