/// The values of one row that a database gave, by their columns, the first of which is 0. Each dialect has one reader
/// of them.
@usableFromInline
package protocol ValueCells {
  /// A key, a version or an entity's number; 0 for NULL.
  func key(_ column: Int32) -> Int64

  /// A value as key-value coding returns it; nil for NULL.
  ///
  /// - Parameters:
  ///   - type: the form of the value.
  ///   - attribute: whose value it is; nil for the result of an expression.
  ///   - storedEntity: the entity whose store has external data.
  func value(
    _ column: Int32, as type: NSAttributeType, of attribute: NSAttributeDescription?, in storedEntity: StoredEntity?
  ) throws -> Any?
}

/// Cells that become the slots of a snapshot. Each is nil for NULL.
///
/// Loops over rows are specialised for each kind, so that no value costs a call through the protocol.
///
/// `SQLiteRow` reads SQLite's values, PostgreSQL's reader the bytes of the wire. The protocol is theirs only where they
/// differ: what becomes of a value (`value(_:as:of:in:)`, `composite`) stands in extensions.
@usableFromInline
package protocol RowCells: ValueCells {
  func integer(_ column: Int32) -> Int64?
  func boolean(_ column: Int32) -> Int64?
  func double(_ column: Int32) -> Double?

  /// Seconds since 2001-01-01 00:00 UTC.
  func date(_ column: Int32) -> Double?

  /// UTF-8, valid until the next row.
  func text(_ column: Int32) -> UnsafeBufferPointer<UInt8>?

  /// - Parameters:
  ///   - isExternal: whether the value may be in a file.
  ///   - storedEntity: the entity whose store has the file; nil for bytes as they are in the row.
  func data(_ column: Int32, isExternal: Bool, in storedEntity: StoredEntity?) throws -> Data?
  func decimal(_ column: Int32) -> NSDecimalNumber?
  func uuid(_ column: Int32) -> UUID?

  /// The bytes of which an attribute's transformer makes the value.
  func archive(_ column: Int32, of attribute: NSAttributeDescription?) -> Data?

  /// A value without an attribute type, as the database has it.
  func plain(_ column: Int32) -> Any?
}

extension RowCells {
  /// The slow way, value by value and boxed: for dictionaries, tombstones of the history, and attributes that are boxed
  /// in any case. Ordinary rows go through `RowDecoder.decode`, which calls the typed methods.
  package func value(
    _ column: Int32, as type: NSAttributeType, of attribute: NSAttributeDescription?, in storedEntity: StoredEntity?
  ) throws -> Any? {
    func string() -> String? { text(column).map { String(decoding: $0, as: UTF8.self) } }
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return integer(column).map { AttributeValue.number($0, type) }
    case .booleanAttributeType: return boolean(column).map { NSNumber(value: $0 != 0) }
    case .doubleAttributeType: return double(column).map { NSNumber(value: $0) }
    case .floatAttributeType: return double(column).map { NSNumber(value: Float($0)) }
    case .dateAttributeType: return date(column).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .stringAttributeType: return string()
    case .UUIDAttributeType: return uuid(column)
    case .URIAttributeType: return string().flatMap(URL.init(string:))
    case .decimalAttributeType: return decimal(column)
    case .binaryDataAttributeType:
      return try data(column, isExternal: attribute?.allowsExternalBinaryDataStorage ?? false, in: storedEntity)
    case .transformableAttributeType:
      return archive(column, of: attribute).map { TransformableValue.decode($0, attribute?.valueTransformerName) }
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType: return plain(column)
    }
  }
}

extension ValueCells {
  /// A composite attribute's value, from the column of each of its elements; nil if all are NULL.
  ///
  /// ```text
  /// columns   ZADDRESS_CITY 'Bath', ZADDRESS_ZIP NULL     ["city": "Bath"]
  ///           both NULL                                   nil: the composite has no value
  /// ```
  func composite(
    _ leaves: [(leaf: CompositeColumns.Leaf, column: Int32)], in storedEntity: StoredEntity?
  ) throws -> [String: Any]? {
    var elements: [String: Any] = [:]
    for (leaf, column) in leaves {
      let attribute = leaf.attribute
      guard let value = try value(column, as: attribute.attributeType, of: attribute, in: storedEntity) else {
        continue
      }
      CompositeValue.set(value, at: leaf.path[...], in: &elements)
    }
    return elements.isEmpty ? nil : elements
  }
}

extension SQLStore {
  /// A row of dictionary results.
  package func dictionary(_ columns: [SQLResultColumn], of cells: some ValueCells) throws -> NSDictionary {
    let row = NSMutableDictionary(capacity: columns.count)
    for column in columns {
      if let value = try value(Int32(column.index), column.kind, of: cells) { row[column.name] = value }
    }
    return row
  }

  /// An object in a dictionary is its ID, not an object: dictionary results make none.
  private func value(_ index: Int32, _ kind: SQLResultColumn.Kind, of cells: some ValueCells) throws -> Any? {
    switch kind {
    case .value(let type, let attribute):
      return try cells.value(index, as: type, of: attribute, in: storedEntity(of: attribute))
    case .composite(let leaves):
      let columns = leaves.enumerated().map { ($1, index + Int32($0)) }
      return try cells.composite(columns, in: storedEntity(of: leaves.first?.attribute))
    case .object(let entityName, let hasEntityColumn):
      let key = cells.key(index)
      let number = hasEntityColumn ? Int(cells.key(index + 1)) : 0
      // 0 in the entity's column stands for the relationship's own destination, as in a snapshot.
      guard key != 0, let storedEntity = storedEntities[number] ?? storedEntities.byName[entityName] else { return nil }
      return NSManagedObjectID(storedEntity: storedEntity, key: key)
    }
  }

  private func storedEntity(of attribute: NSAttributeDescription?) -> StoredEntity? {
    attribute?.owner.flatMap { storedEntities.byName[$0.name ?? ""] }
  }
}
