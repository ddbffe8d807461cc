import Foundation
import Testing

@testable import CoreData

/// Rebuilds each store's schema from its model and compares it with what a former program wrote into the file.
@Suite("Schema of files of former programs") struct SchemaAgainstFilesTests {
  /// Names and definitions in the file's sqlite_master.
  private func definitions(_ type: String, in file: URL) throws -> [String: String] {
    let rows = try StoreFixtures.rows(
      "SELECT name, sql FROM sqlite_master WHERE type = '\(type)' AND sql IS NOT NULL ORDER BY rowid", inFile: file)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] ?? "", $0[1] ?? "") })
  }

  private func isHistory(_ name: String) -> Bool {
    name.hasPrefix("ACHANGE") || name.hasPrefix("ATRANSACTION") || name.hasPrefix("Z_TRANSACTION")
  }

  private func statements(_ schema: StoreSchema, creating what: String) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: schema.creationStatements.filter { $0.hasPrefix("CREATE \(what)") }.map { statement in
        (String(statement.split(separator: " ")[what.contains("UNIQUE") ? 3 : 2]), statement)
      })
  }

  /// This store was migrated in place: its file still has the numbers' old names.
  private static let renamedEntities = ["CoreDataPlus-SampleModel-V2": ["LuxuryCar": "ExpensiveSportCar"]]

  /// Stores with another order of columns: one was migrated in place and has a new column at the end of its table, one
  /// is of 2009, when strings were not sorted by name.
  private static let otherOrder: Set<String> = ["Notes-macOS26", "MagicalRecord-Recipes"]

  @Test("Entities get the numbers that the file has", arguments: StoreModels.names)
  func numbers(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let rows = try StoreFixtures.rows(
      "SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT", inFile: file)

    let schema = try StoreSchema(entities: StoreModels.model(ofStore: store).entities, prefix: "Z")

    let renamed = Self.renamedEntities[store] ?? [:]
    let built = schema.entities.map { mapping -> [String?] in
      ["\(mapping.number)", renamed[mapping.name] ?? mapping.name, "\(mapping.superNumber)"]
    }
    #expect(built == rows)
  }

  @Test("Tables have the same columns in the same order", arguments: StoreModels.names)
  func tables(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    var expected = try definitions("table", in: file).filter { !isHistory($0.key) }
    if store == "Plaso-knowledgeC-10.13" {
      // Framework 851 wrote a uniqueness constraint into the column, not as an index.
      expected["ZSTRUCTUREDMETADATA"] = expected["ZSTRUCTUREDMETADATA"]?.replacingOccurrences(of: " UNIQUE", with: "")
    }

    let schema = try StoreSchema(entities: StoreModels.model(ofStore: store).entities, prefix: "Z")

    var built = statements(schema, creating: "TABLE")
    if expected["Z_MODELCACHE"] == nil { built["Z_MODELCACHE"] = nil }  // frameworks before 637
    #expect(Set(built.keys) == Set(expected.keys))
    for (name, statement) in built {
      if Self.otherOrder.contains(store) {
        #expect(columns(statement).sorted() == columns(expected[name] ?? "").sorted(), "\(name)")
      } else {
        #expect(statement == expected[name], "\(name)")
      }
    }
  }

  private func columns(_ statement: String) -> [String] {
    statement.split(separator: "(").dropFirst().joined().split { $0 == "," || $0 == ")" }
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test("Indexes are the same, as far as the store's own copy of the model knows them", arguments: StoreModels.names)
  func indexes(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let fileIndexes = try definitions("index", in: file).filter { !isHistory($0.key) }
    let source = try StoreModels.sourceModel(ofStore: store)
    let model = try source ?? StoreModels.model(ofStore: store)

    let schema = try StoreSchema(entities: model.entities, prefix: "Z")

    var built = statements(schema, creating: "INDEX").merging(
      statements(schema, creating: "UNIQUE INDEX"), uniquingKeysWith: { first, _ in first })
    var expected = fileIndexes
    if source == nil {
      // `modelcache.json` does not list the fetch indexes.
      expected = expected.filter { built[$0.key] != nil }
    }
    if store == "Plaso-knowledgeC-10.13" {
      built["Z_StructuredMetadata_UNIQUE_metadataHash"] = nil  // the table's definition has it
    }
    #expect(built == expected)
  }

  @Test("Every file is matched with its model", arguments: StoreModels.names)
  func existing(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = try StoreModels.model(ofStore: store)
    let connection = try SQLiteConnection(path: file.path, access: .readWrite)
    defer { connection.close() }

    let described = try SchemaFile(connection, prefix: "Z")
    let schema = try StoreSchema(entities: model.entities, prefix: "Z", file: described)

    #expect(schema.entities.count == model.entities.count)
    for mapping in schema.entities {
      let present = Set(described.columns[mapping.table] ?? [])
      let needed =
        mapping.attributes.values.map(\.column)
        + mapping.toOnes.values.flatMap { [$0.column, $0.entityColumn, $0.orderColumn].compactMap { $0 } }
      #expect(present.isSuperset(of: needed))
      // The elements of a composite attribute have columns.
      let persistent = mapping.entity.attributesByName.values.filter { !$0.isTransient }
        .flatMap { ($0 as? NSCompositeAttributeDescription)?.elements ?? [$0] }
      #expect(mapping.attributes.count == persistent.count)
      let relationships = mapping.entity.relationshipsByName.values.filter { !$0.isTransient }
      #expect(mapping.toOnes.count + mapping.toManys.count == relationships.count)
    }
  }
}
