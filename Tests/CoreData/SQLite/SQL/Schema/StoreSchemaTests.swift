import Foundation
import TestFiles
import Testing

@testable import CoreData

@Suite("Store schema") struct StoreSchemaTests {
  private func withFile(_ body: (SQLiteConnection) throws -> Void) throws {
    let file = temporaryURL("schema")
    let connection = try SQLiteConnection(path: file.path, access: .create)
    defer {
      connection.close()
      try? FileManager.default.removeItem(at: file)
    }
    try body(connection)
  }

  private func library() -> NSManagedObjectModel {
    let item = Build.entity("Item", Build.attribute("title"), Build.attribute("size", .integer32AttributeType))
    let book = Build.entity("Book", Build.attribute("code", .UUIDAttributeType))
    let film = Build.entity("Film", Build.attribute("code", .integer16AttributeType))
    let shelf = Build.entity("Shelf", Build.attribute("name"))
    let tag = Build.entity("tag", Build.attribute("word"))
    item.subentities = [film, book]
    shelf.uniquenessConstraints = [["name"]]
    item.indexes = [
      NSFetchIndexDescription(
        name: "bySize",
        elements: [
          NSFetchIndexElementDescription(property: Build.attribute("size"), collationType: .binary),
          NSFetchIndexElementDescription(property: Build.attribute("title"), collationType: .binary),
        ])
    ]
    item.indexes[0].elements[0].isAscending = false
    Build.relate(shelf, "items", toMany: true, ordered: true, to: item, inverse: "shelf", inverseToMany: false)
    Build.relate(item, "tags", toMany: true, to: tag, inverse: "items", inverseToMany: true, inverseOrdered: true)
    Build.relate(shelf, "best", toMany: false, to: item, inverse: "bestOf", inverseToMany: false)
    return Build.model(item, book, film, shelf, tag)
  }

  @Test("Two stores under two prefixes live in one file and do not touch each other's tables") func prefixes() throws {
    try withFile { connection in
      let model = library()
      for prefix in ["Z", "WP"] {
        for statement in try StoreSchema(entities: model.entities, prefix: prefix).creationStatements {
          try connection.execute(statement)
        }
      }
      let names = try connection.rows("SELECT name FROM sqlite_master WHERE sql IS NOT NULL").map { "\($0[0])" }
      #expect(names.count == Set(names).count)
      #expect(names.allSatisfy { $0.contains("\"Z") || $0.contains("\"WP") })
      for prefix in ["Z", "WP"] {
        let file = try SchemaFile(connection, prefix: prefix)
        #expect(file.entities.map(\.name) == ["Item", "Book", "Film", "Shelf", "tag"])
        let schema = try StoreSchema(entities: model.entities, prefix: prefix, file: file)
        #expect(schema.entitiesByName["Film"]?.table == prefix + "ITEM")
      }
    }
  }

  @Test("Columns, keys and join tables are where Apple's rules put them") func layout() throws {
    let schema = try StoreSchema(entities: library().entities, prefix: "WP")
    let item = try #require(schema.entitiesByName["Item"])
    let book = try #require(schema.entitiesByName["Book"])
    let film = try #require(schema.entitiesByName["Film"])
    let shelf = try #require(schema.entitiesByName["Shelf"])
    let tag = try #require(schema.entitiesByName["tag"])

    #expect([item, book, film, shelf, tag].map(\.number) == [1, 2, 3, 4, 5])
    #expect([item, book, film, shelf].map(\.superNumber) == [0, 1, 1, 0])
    #expect(item.numbersIncludingSubentities == [1, 2, 3])
    #expect(film.rootNumber == 1)
    #expect(
      schema.tables[0].columns.map(\.name) == [
        "Z_PK", "Z_ENT", "Z_OPT", "ZSIZE", "ZBESTOF", "ZSHELF", "ZCODE", "Z_FOK_SHELF", "ZTITLE", "ZCODE1",
      ])
    #expect(film.attributes["code"]?.column == "ZCODE")
    #expect(book.attributes["code"]?.column == "ZCODE1")
    #expect(book.toOnes["shelf"]?.orderColumn == "Z_FOK_SHELF")
    #expect(shelf.toOnes["best"]?.entityColumn == "Z1_BEST")
    guard case .foreignKey(let destination, let table, let inverse)? = shelf.toManys["items"] else {
      Issue.record("no foreign key")
      return
    }
    #expect(destination == "Item" && table == "WPITEM" && inverse.column == "ZSHELF")
    guard case .join(_, let join, let owner, let members, let order)? = book.toManys["tags"],
      case .join(_, let sameJoin, let otherOwner, let otherMembers, let otherOrder)? = tag.toManys["items"]
    else {
      Issue.record("no join table")
      return
    }
    #expect(join == "WP_1TAGS" && sameJoin == join)
    #expect(owner == "Z_1ITEMS" && members == "Z_5TAGS" && order == nil)
    #expect(otherOwner == members && otherMembers == owner && otherOrder == "Z_FOK_1ITEMS")
  }

  @Test("Indexes are made for keys, entities, fetch indexes and unique constraints") func indexes() throws {
    let statements = try StoreSchema(entities: library().entities, prefix: "WP").creationStatements
    for expected in [
      "CREATE INDEX WPITEM_ZSHELF_INDEX ON WPITEM (ZSHELF)",
      "CREATE INDEX WPITEM_Z_ENT_INDEX ON WPITEM (Z_ENT)",
      "CREATE INDEX WP_Item_bySize ON WPITEM (ZSIZE COLLATE BINARY DESC, ZTITLE COLLATE BINARY ASC)",
      "CREATE UNIQUE INDEX WP_Shelf_UNIQUE_name ON WPSHELF (ZNAME COLLATE BINARY ASC)",
      "CREATE INDEX WP_1TAGS_Z_5TAGS_INDEX ON WP_1TAGS (Z_5TAGS, Z_1ITEMS)",
      "INSERT INTO WP_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (3, 'Film', 1, 0)",
    ] {
      #expect(statements.contains(expected), "\(expected)")
    }
  }

  @Test("Numbers and the other end's join table are taken from the file") func fromFile() throws {
    try withFile { connection in
      let tag = Build.entity("Tag", Build.attribute("word"))
      Build.relate(tag, "narrower", toMany: true, to: tag, inverse: "broader", inverseToMany: true)
      let model = Build.model(tag)
      try connection.execute(
        "CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORD VARCHAR)")
      // Frameworks of the 640s let the earlier of two names on one entity name the table.
      try connection.execute("CREATE TABLE Z_7BROADER (Z_7BROADER INTEGER, Z_7NARROWER1 INTEGER)")
      try connection.execute(
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
      try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (7, 'Tag', 0, 0)")

      let file = try SchemaFile(connection, prefix: "Z")
      let schema = try StoreSchema(entities: model.entities, prefix: "Z", file: file)

      guard case .join(_, let table, let owner, let members, _)? = schema.entitiesByNumber[7]?.toManys["narrower"]
      else {
        Issue.record("no join table")
        return
      }
      #expect(table == "Z_7BROADER" && owner == "Z_7BROADER" && members == "Z_7NARROWER1")
    }
  }

  @Test("A file that lacks something the model needs is refused with its name") func missing() throws {
    let person = Build.entity("Person", Build.attribute("name"))
    let model = Build.model(person)
    let row = SchemaFile.EntityRow(number: 1, name: "Person", superNumber: 0)
    let columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    let cases: [(SchemaFile, String)] = [
      (SchemaFile(entities: [], columns: [:]), "no entity Person"),
      (SchemaFile(entities: [row], columns: [:]), "no table ZPERSON"),
      (SchemaFile(entities: [row], columns: ["ZPERSON": columns]), "table ZPERSON has no column ZNAME"),
    ]
    for (file, expected) in cases {
      let error = #expect(throws: StoreSchemaError.self) {
        try StoreSchema(entities: model.entities, prefix: "Z", file: file)
      }
      #expect(error?.description.contains(expected) == true)
      #expect((error as NSError?)?.code == 134020)
      #expect((error as NSError?)?.domain == NSCocoaErrorDomain)
      #expect((error as NSError?)?.localizedDescription == error?.description)
    }
  }

  @Test("Names that would become SQL, and types that no column keeps, are refused") func refused() {
    for entity in [
      Build.entity("A b"), Build.entity("A", Build.attribute("x; DROP TABLE ZA")),
      Build.entity("A", Build.attribute("x", .undefinedAttributeType)),
    ] {
      let model = Build.model(entity)
      #expect(throws: StoreSchemaError.self) { try StoreSchema(entities: model.entities, prefix: "Z") }
    }
  }

  @Test("A configuration without the superentity makes the subentity a root with all properties") func configuration()
    throws
  {
    let animal = Build.entity("Animal", Build.attribute("name"))
    let dog = Build.entity("Dog", Build.attribute("breed"))
    animal.subentities = [dog]
    let model = Build.model(animal, dog)
    let schema = try StoreSchema(entities: [dog], prefix: "Z")
    #expect(schema.tables.map(\.name) == ["ZDOG"])
    #expect(schema.entitiesByName["Dog"]?.attributes.keys.sorted() == ["breed", "name"])
    #expect(model.entities.count == 2)
  }
}

@Suite("Derived attributes") struct DerivedAttributeTests {
  private func books() -> NSManagedObjectModel {
    let count = NSDerivedAttributeDescription()
    count.name = "pagesCount"
    count.attributeType = .integer64AttributeType
    count.derivationExpression = NSExpression(format: "pages.@count")
    let book = Build.entity("Book", Build.attribute("title"), count)
    let page = Build.entity("Page", Build.attribute("text"))
    Build.relate(book, "pages", toMany: true, to: page, inverse: "book", inverseToMany: false)
    return Build.model(book, page)
  }

  @Test("Counts follow inserts, moves and deletes of every program") func counts() throws {
    let file = temporaryURL("derived")
    defer { try? FileManager.default.removeItem(at: file) }
    let connection = try SQLiteConnection(path: file.path, access: .create)
    defer { connection.close() }
    for statement in try StoreSchema(entities: books().entities, prefix: "Z").creationStatements {
      try connection.execute(statement)
    }
    func counts() throws -> [Int64?] {
      try [1, 2].map { try connection.integer("SELECT ZPAGESCOUNT FROM ZBOOK WHERE Z_PK = \(raw: $0)") }
    }

    try connection.execute("INSERT INTO ZPAGE (Z_PK, ZBOOK) VALUES (1, 1)")
    try connection.execute("INSERT INTO ZBOOK (Z_PK) VALUES (1), (2)")
    try connection.execute("INSERT INTO ZPAGE (Z_PK, ZBOOK) VALUES (2, 1), (3, 2), (4, NULL)")
    #expect(try counts() == [2, 1])
    try connection.execute("UPDATE ZPAGE SET ZBOOK = 2 WHERE Z_PK = 1")
    #expect(try counts() == [1, 2])
    try connection.execute("UPDATE ZPAGE SET ZBOOK = NULL WHERE Z_PK = 2")
    try connection.execute("DELETE FROM ZPAGE WHERE Z_PK = 3")
    #expect(try counts() == [0, 1])
  }

  @Test(
    "The triggers of former programs run here too",
    arguments: ModelFixtures.arguments(
      own: [
        (
          "Harbour-1", "SELECT ZVESSELCOUNT FROM ZBERTH WHERE Z_PK = 1",
          "INSERT INTO ZASSET (Z_PK, Z_ENT, Z_OPT, ZBERTH) VALUES (9999, 2, 1, 1)"
        )
      ],
      apple: [
        (
          "CoreDataPlus-SampleModel2-V2", "SELECT ZPAGESCOUNT FROM ZBOOK WHERE Z_PK = 1",
          "INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZBOOK) VALUES (9999, 4, 1, 1)"
        )
      ]))
  func formerTriggers(store: String, count: String, insertion: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let connection = try SQLiteConnection(path: file.path, access: .readWrite)
    defer { connection.close() }
    let before: Int64 = try #require(try connection.integer("\(raw: count)"))
    try connection.execute(insertion)
    let after: Int64? = try connection.integer("\(raw: count)")
    #expect(after == before + 1)
  }

  @Test(
    "Triggers have the names of former programs'",
    arguments: ModelFixtures.arguments(own: ["Harbour-1", "Harbour-2"], apple: ["CoreDataPlus-SampleModel2-V2"]))
  func names(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let expected = try StoreFixtures.rows(
      "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid", inFile: file)
    let model = store.hasPrefix("Harbour") ? try StoreModels.model(ofStore: store) : books()
    let schema = try StoreSchema(entities: model.entities, prefix: "Z")
    let names: [String] = schema.derivedAttributeStatements.map { $0.components(separatedBy: " ")[2] }
    #expect(names == expected.compactMap { $0[0] })
  }
}

@Suite("Store metadata") struct StoreMetadataTests {
  @Test("Metadata comes back as it was written, the identifier from its own column") func roundTrip() throws {
    let model = Build.model(Build.entity("Person", Build.attribute("name")))
    var metadata = StoreMetadata.newFile(entities: model.entities, identifiers: ["2"])
    metadata["app.key"] = ["a": 1]
    metadata[StoreMetadata.Key.storeUUID] = "not written"

    let read = try StoreMetadata.decode(StoreMetadata.encode(metadata), uuid: "11-22")

    #expect(read["NSStoreUUID"] as? String == "11-22")
    #expect(read["NSStoreType"] as? String == "SQLite")
    #expect(read["_NSAutoVacuumLevel"] as? String == "2")
    #expect(read["NSStoreModelVersionHashesVersion"] as? Int == 3)
    #expect(read["NSStoreModelVersionIdentifiers"] as? [String] == ["2"])
    #expect((read["app.key"] as? [String: Any])?["a"] as? Int == 1)
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: read))
  }

  @Test("Damaged metadata is an error") func damaged() {
    #expect(throws: (any Error).self) { try StoreMetadata.decode(Data("no list".utf8), uuid: "") }
  }

  @Test(
    "Digest and checksum are those of the files of former programs", arguments: StoreModels.names)
  func digests(store: String) throws {
    let metadata = try StoreFixtures.metadata(ofStore: store)
    let hashes = try #require(metadata[StoreMetadata.Key.versionHashes] as? [String: Data])
    if let digest = metadata[StoreMetadata.Key.hashesDigest] as? String {
      #expect(NSManagedObjectModel.digest(of: hashes) == digest)
    }
    if let checksum = metadata[StoreMetadata.Key.checksum] as? String {
      #expect(NSManagedObjectModel.checksum(of: hashes) == checksum)
    }
  }

  @Test(
    "Every store is compatible with its own model", arguments: StoreModels.names)
  func compatible(store: String) throws {
    let model = try StoreModels.model(ofStore: store)
    let metadata = try StoreFixtures.metadata(ofStore: store)
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }
}
