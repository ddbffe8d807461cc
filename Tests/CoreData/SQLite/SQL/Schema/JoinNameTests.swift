import Foundation
import Testing

@testable import CoreData

@Suite("Names of join tables and indexes") struct JoinNameTests {
  private func statements(_ entities: NSEntityDescription...) throws -> [String] {
    let model = NSManagedObjectModel()
    model.entities = entities
    return try StoreSchema(entities: entities, prefix: "Z").creationStatements
  }

  @Test("Columns of one name are numbered by the relationships of the entity whose rows they hold")
  func numbering() throws {
    let (first, second, user) = (Build.entity("Alpha"), Build.entity("Beta"), Build.entity("User"))
    // The user's names come in the other order than the entities.
    Build.relate(first, "users", toMany: true, to: user, inverse: "zebras", inverseToMany: true)
    Build.relate(second, "users", toMany: true, to: user, inverse: "apples", inverseToMany: true)
    let tables = try statements(first, second, user).filter {
      $0.hasPrefix("CREATE TABLE Z_1") || $0.hasPrefix("CREATE TABLE Z_2")
    }
    #expect(tables.contains { $0.contains("Z_2USERS ( Z_2APPLES INTEGER, Z_3USERS INTEGER,") })
    #expect(tables.contains { $0.contains("Z_1USERS ( Z_1ZEBRAS INTEGER, Z_3USERS1 INTEGER,") })
  }

  @Test("Positions of both ends are in the order of the keys, and REFLEXIVE keeps its letters")
  func positions() throws {
    let (list, item) = (Build.entity("List"), Build.entity("XItem"))
    Build.relate(
      list, "items", toMany: true, ordered: true, to: item, inverse: "lists", inverseToMany: true, inverseOrdered: true)
    for name in ["friends", "rivals"] {
      let relationship = NSRelationshipDescription()
      relationship.name = name
      relationship.isOrdered = true
      relationship.destinationEntity = item
      item.properties.append(relationship)
      relationship.inverseRelationship = relationship
    }
    let tables = try statements(list, item)
    #expect(
      tables.contains {
        $0.contains("( Z_1LISTS INTEGER, Z_2ITEMS INTEGER, Z_FOK_1LISTS INTEGER, Z_FOK_2ITEMS INTEGER, PRIMARY KEY")
      })
    // Not numbered, although both tables have it.
    #expect(tables.count { $0.contains(" REFLEXIVE INTEGER, Z_FOK_REFLEXIVE INTEGER, PRIMARY KEY") } == 2)
  }

  @Test("An index over relationships is made, one over a single relationship is not; an attribute is indexed once")
  func indexes() throws {
    let (usage, user, device) = (
      Build.entity("Usage", Build.attribute("name")), Build.entity("User"), Build.entity("XDevice")
    )
    Build.relate(usage, "user", toMany: false, to: user, inverse: "usages", inverseToMany: true)
    Build.relate(usage, "device", toMany: false, to: device, inverse: "usages", inverseToMany: true)
    func index(_ name: String, _ properties: String...) -> NSFetchIndexDescription {
      NSFetchIndexDescription(
        name: name,
        elements: properties.map { NSFetchIndexElementDescription(propertyName: $0, collationType: .binary) })
    }
    usage.indexes = [index("byUserAndDevice", "user", "device"), index("byUser", "user"), index("byName", "name")]
    usage.attributesByName["name"]?.isIndexed = true
    usage.compoundIndexes = [["user", "device"]]
    let made = try statements(usage, user, device).filter { $0.hasPrefix("CREATE INDEX Z_Usage_") }
    #expect(
      made == [
        "CREATE INDEX Z_Usage_byUserAndDevice ON ZUSAGE (ZUSER COLLATE BINARY ASC, ZDEVICE COLLATE BINARY ASC)",
        "CREATE INDEX Z_Usage_byName ON ZUSAGE (ZNAME COLLATE BINARY ASC)",
      ])
  }

  @Test(
    "Fetch indexes are those of the files of former programs, by the models that the files keep",
    arguments: StoreModels.keepingModels)
  func fixtures(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: file)
    let made = try StoreSchema(entities: model.entities, prefix: "Z").creationStatements
      .filter { $0.hasPrefix("CREATE INDEX Z_") && !$0.contains("_INDEX ON") }
    let fileIndexes = try StoreFixtures.rows(
      """
      SELECT sql FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE INDEX Z!_%' ESCAPE '!' \
      AND sql NOT LIKE '%!_INDEX ON%' ESCAPE '!' AND sql NOT LIKE '%TRANSACTION%'
      """, inFile: file)
    #expect(Set(made) == Set(fileIndexes.compactMap { $0[0] }))
  }
}
