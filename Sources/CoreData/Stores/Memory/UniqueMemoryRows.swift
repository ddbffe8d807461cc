/// The rows of a store in memory among which violated constraints are looked for. Used with the store's turn to write.
///
/// Constraints are numbers.
///
/// Values are compared as predicates compare them: 5 and 5.0 are equal, texts by their bytes.
struct UniqueMemoryRows: UniqueRows {
  let memory: MemoryRows
  private var schema: MemorySchema { memory.schema }

  func constraints(_ layout: EntityLayout) throws -> [Int] { try schema.entity(named: layout.name).constraints }

  func names(_ constraint: Int) -> [String] { schema.constraints[constraint].names }

  func values(
    of constraint: Int, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) -> [PredicateValue]? {
    schema.uniqueValues(row, constraint, resolve)
  }

  func id(with values: [PredicateValue], _ constraint: Int) -> NSManagedObjectID? {
    guard let key = memory.owner(of: values, constraint) else { return nil }
    let entity = schema.entities.lazy.compactMap(\.self).first { entity in
      entity.constraints.contains(constraint) && memory.contents.row(key, entity.storedEntity.number) != nil
    }
    return entity.map { NSManagedObjectID(storedEntity: $0.storedEntity, key: key) }
  }

  func row(_ id: NSManagedObjectID) -> Snapshot? { memory.contents.row(id.key, id.storedEntity.number) }
}
