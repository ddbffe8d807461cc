/// Writes values to a database, each to the next column: the counterpart of `RowCells`. Each dialect has one.
///
/// Loops over rows are specialised for each kind, so that no value costs a call through the protocol.
///
/// ```text
/// value          SQLite (StatementCells)                  PostgreSQL
/// -------------  ---------------------------------------  ----------------
/// Boolean        0 or 1                                   boolean
/// Date           REAL, seconds since 2001                 timestamptz
/// Decimal        an integer if whole, else REAL           numeric
/// UUID           16 bytes                                 uuid
/// URL            its absolute string                      text
/// binary         bytes, or 01/02 in front (external)      bytea
/// transformable  the transformer's bytes                  bytea
/// ```
@usableFromInline
package protocol CellWriter: ~Copyable {
  /// Thrown for a value that the database cannot hold.
  associatedtype Failure: Error

  mutating func null()
  mutating func integer(_ value: Int64)

  /// - Parameter value: 0 or 1.
  mutating func boolean(_ value: Int64)
  mutating func double(_ value: Double)

  /// - Parameter seconds: since 2001-01-01 00:00 UTC.
  mutating func date(_ seconds: Double) throws(Failure)
  mutating func text(_ value: String) throws(Failure)

  /// - Parameter isExternal: whether the value may be in a file.
  mutating func data(_ value: Data, isExternal: Bool)
  mutating func decimal(_ value: NSDecimalNumber)
  mutating func uuid(_ value: UUID)

  /// A value that its attribute's transformer makes bytes of.
  mutating func transformable(_ value: Any, of attribute: NSAttributeDescription) throws(Failure)
}

extension CellWriter where Self: ~Copyable {
  /// Writes a value as key-value coding has it.
  package mutating func value(_ value: Any?, of attribute: NSAttributeDescription) throws(Failure) {
    guard let value, !(value is NSNull) else { return null() }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      if let number = AttributeValue.integer(value) { integer(number) } else { null() }
    case .booleanAttributeType:
      if let number = AttributeValue.integer(value) { boolean(number == 0 ? 0 : 1) } else { null() }
    case .doubleAttributeType, .floatAttributeType:
      if let number = AttributeValue.double(value) { double(number) } else { null() }
    case .dateAttributeType:
      if let moment = value as? Date { try date(moment.timeIntervalSinceReferenceDate) } else { null() }
    case .stringAttributeType:
      if let string = value as? String { try text(string) } else { null() }
    case .binaryDataAttributeType:
      guard let bytes = value as? Data else { return null() }
      data(bytes, isExternal: attribute.allowsExternalBinaryDataStorage)
    case .decimalAttributeType:
      if let number = value as? NSDecimalNumber { decimal(number) } else { null() }
    case .UUIDAttributeType:
      if let identifier = value as? UUID { uuid(identifier) } else { null() }
    case .URIAttributeType:
      if let url = value as? URL { try text(url.absoluteString) } else { null() }
    case .transformableAttributeType, .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      try transformable(value, of: attribute)
    }
  }
}
