/// The parts that a store needs to write and read its history: the file's tables, and the form of each entity's
/// changes.
final class StoreHistory: Sendable {
  let tables: HistoryTables
  /// By entity number.
  private let columns: [Int: HistoryColumns]
  private let tombstones: [Int: [AttributeColumn]]

  init(_ tables: HistoryTables, _ schema: StoreSchema) {
    self.tables = tables
    columns = schema.entitiesByNumber.mapValues(HistoryColumns.init)
    tombstones = schema.entitiesByNumber.mapValues(\.preservedAttributes)
  }

  /// The history of a store that is being opened; nil for none.
  ///
  /// A file with a history continues it without the option too: unrecorded changes would be lost to everyone who
  /// follows it. Apple's framework makes such a store read-only.
  ///
  /// ```text
  /// the file has a history   the option asks for one   result
  /// no                       no                        none
  /// no                       yes                       the tables are made
  /// yes                      either                    it goes on; missing tombstone columns are added
  /// ```
  static func open(_ schema: StoreSchema, options: [AnyHashable: Any]?, _ database: SQLiteDatabase) throws
    -> StoreHistory?
  {
    let isWanted = (options?[NSPersistentHistoryTrackingKey] as? NSNumber)?.boolValue ?? false
    let presentTables = try database.withWriter { try HistoryTables(prefix: schema.prefix, $0) }
    let tombstoneCount = schema.entities.map(\.preservedAttributes.count).max() ?? 0
    if database.configuration.isReadOnly || (presentTables?.tombstoneCount ?? -1) >= tombstoneCount
      || presentTables == nil && !isWanted
    {
      return presentTables.map { StoreHistory($0, schema) }
    }
    let tables = try database.write { try HistoryTables.create(schema, tombstoneCount: tombstoneCount, $0) }
    return StoreHistory(tables, schema)
  }

  func columns(_ number: Int) -> HistoryColumns? { columns[number] }

  /// The attributes whose values are preserved, in the order of the tombstone's columns.
  func preserved(_ number: Int) -> [AttributeColumn] { tombstones[number] ?? [] }
}

extension TableMapping {
  /// The attributes that are preserved when a row is deleted: the root entity's first, then by name.
  fileprivate var preservedAttributes: [AttributeColumn] {
    Array(sequence(first: entity, next: \.superentity)).reversed().flatMap { entity -> [AttributeColumn] in
      entity.declaredProperties.sorted(onBytes: { $0.name })
        .filter { ($0 as? NSAttributeDescription)?.preservesValueInHistoryOnDeletion ?? false }
        .flatMap { property -> [AttributeColumn] in
          composites[property.name]?.leaves.map(\.column) ?? attributes[property.name].map { [$0] } ?? []
        }
    }
  }
}
