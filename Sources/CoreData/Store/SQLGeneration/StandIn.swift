struct SQLGenerator {
  init(schema: StoreSchema, entity: EntityMapping) { self.entity = entity }
  let entity: EntityMapping
  var joins = ""
  var bindings: [SQLiteValue] = []
  func entityRestriction(includesSubentities: Bool) -> String? { nil }
  mutating func whereClause(_ p: NSPredicate) throws -> String { "1" }
  mutating func orderClause(_ s: [NSSortDescriptor]) throws -> String { "t0.Z_PK" }
}
extension SQLiteStore {
  func dictionaries(_ s: FetchSettings, _ f: Fetch) throws -> [NSDictionary] { [] }
}
