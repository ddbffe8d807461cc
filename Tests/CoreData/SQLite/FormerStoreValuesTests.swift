import Foundation
import Testing

@testable import CoreData

/// Compares the values that the stack reads from and writes to files of former programs with those that plain SQLite
/// shows.
@Suite("Values in stores of former programs") struct FormerStoreValuesTests {
  private func open(
    _ model: NSManagedObjectModel, _ file: URL, prefix: String? = nil
  ) throws -> (NSManagedObjectContext, StoreSchema) {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options = prefix.map { [NSPersistentStoreTablePrefixOption: $0] }
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
    let context = coordinator.context()
    return (context, try #require((store as? SQLiteStore)?.schema))
  }

  /// A value in the form of SQLite's quote() of its column; nil for types that are compared elsewhere.
  private func quoted(_ value: Any?, _ type: NSAttributeType) -> String? {
    guard let value else { return "NULL" }
    switch (type, value) {
    case (.stringAttributeType, let text as String):
      return "'\(text.replacingOccurrences(of: "'", with: "''"))'"
    case (.URIAttributeType, let url as URL): return "'\(url.absoluteString)'"
    case (.UUIDAttributeType, let uuid as UUID):
      return "X'\(withUnsafeBytes(of: uuid.uuid) { Data($0) }.hexadecimal.uppercased())'"
    case (.integer16AttributeType, let number as NSNumber), (.integer32AttributeType, let number as NSNumber),
      (.integer64AttributeType, let number as NSNumber), (.booleanAttributeType, let number as NSNumber):
      return String(number.int64Value)
    default: return nil
    }
  }

  @Test(
    "Every text, integer, truth value, UUID and URI is what SQLite shows; dates and numbers too",
    arguments: StoreModels.names)
  func values(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (context, schema) = try open(StoreModels.model(ofStore: store), file)
    var compared = 0
    for mapping in schema.entities {
      let attributes = mapping.attributes.values.sorted { $0.name < $1.name }
      guard !attributes.isEmpty else { continue }
      let columns = attributes.map { "quote(\($0.column)), \($0.column)" }.joined(separator: ", ")
      let rows = try StoreFixtures.rows(
        "SELECT Z_PK, \(columns) FROM \(mapping.table) WHERE Z_ENT = \(mapping.number) ORDER BY Z_PK LIMIT 200",
        inFile: file)
      try context.performAndWait {
        let request = NSFetchRequest<NSManagedObject>(entityName: mapping.name)
        request.includesSubentities = false
        request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
        request.fetchLimit = rows.count
        let byKey = Dictionary(
          uniqueKeysWithValues: try context.fetch(request).map {
            ($0.objectID.uriRepresentation().lastPathComponent, $0)
          })
        for row in rows {
          let object = try #require(byKey["p" + (row[0] ?? "")], "\(mapping.name) \(row[0] ?? "")")
          for (index, attribute) in attributes.enumerated() {
            let (quote, text) = (row[1 + 2 * index], row[2 + 2 * index])
            let value = object.value(forKeyPath: attribute.name)
            switch (attribute.type, value) {
            case (.dateAttributeType, let date as Date):
              #expect(date.timeIntervalSinceReferenceDate == Double(quote ?? ""))
            case (.doubleAttributeType, let number as NSNumber):
              #expect(number.doubleValue == Double(quote ?? ""))
            case (.floatAttributeType, let number as NSNumber):
              #expect(number.floatValue == Float(quote ?? ""))
            case (.decimalAttributeType, let number as NSDecimalNumber):
              #expect(number == NSDecimalNumber(string: text ?? ""))
            default:
              guard let expected = quoted(value, attribute.type) else { continue }
              #expect(expected == quote, "\(mapping.name).\(attribute.name)")
            }
            compared += 1
          }
        }
      }
    }
    #expect(compared > 0 || ["BNR-TestModel", "SwiftData-FreezeRay-1.0.0"].contains(store))
  }

  @Test(
    "A change of one value touches that column and the row's version, and nothing else", arguments: StoreModels.names)
  func oneChange(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (context, schema) = try open(StoreModels.model(ofStore: store), file)
    // Find an object with a string that is not part of a uniqueness constraint.
    for mapping in schema.entities {
      var constrained: Set<String> = []
      for entity in sequence(first: mapping.entity, next: \.superentity) {
        for constraint in entity.uniquenessConstraints { constrained.formUnion(entity.names(of: constraint)) }
      }
      guard
        let attribute = mapping.attributes.values.sorted(by: { $0.name < $1.name })
          .first(where: { $0.type == .stringAttributeType && !constrained.contains($0.name) })
      else { continue }
      let all = "SELECT * FROM \(mapping.table) WHERE Z_ENT = \(mapping.number) ORDER BY Z_PK LIMIT 20"
      let before = try StoreFixtures.rows(all, inFile: file)
      guard !before.isEmpty else { continue }
      let names = schema.tables.first { $0.name == mapping.table }?.columns.map(\.name) ?? []
      let present = try StoreFixtures.rows("SELECT name FROM pragma_table_info('\(mapping.table)')", inFile: file)
      let changedColumns = try context.performAndWait { () -> Set<String> in
        let uri = try #require(URL(string: uri(context, mapping, before[0][0])))
        let identifier = try #require(context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri))
        let object = try context.existingObject(with: identifier)
        object.setValue("changed by a test", forKey: attribute.name)
        try context.save()
        return [attribute.column, "Z_OPT"]
      }
      let after = try StoreFixtures.rows(all, inFile: file)
      #expect(after.count == before.count)
      #expect(Array(after.dropFirst()) == Array(before.dropFirst()))
      for (index, column) in present.enumerated() where before[0][index] != after[0][index] {
        #expect(changedColumns.contains(column[0] ?? ""), "\(mapping.name).\(column[0] ?? "")")
      }
      let position = try #require(present.firstIndex { $0[0] == "Z_OPT" })
      let (was, version): (String, String) = (before[0][position] ?? "", after[0][position] ?? "")
      #expect(Int(version) == (Int(was) ?? 0) + 1)
      #expect(Set(names).isSubset(of: present.compactMap { $0[0] }))
    }
  }

  private func uri(_ context: NSManagedObjectContext, _ mapping: TableMapping, _ key: String?) -> String {
    let identifier = context.persistentStoreCoordinator?.persistentStores.first?.identifier ?? ""
    return "x-coredata://\(identifier)/\(mapping.name)/p\(key ?? "")"
  }

  @Test(
    "A store of another prefix in the same file leaves the app's schema, metadata and numbers as they are",
    arguments: StoreModels.names)
  func secondStore(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let questions = [
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'WP%' AND tbl_name NOT LIKE 'WP%' "
        + "ORDER BY rowid",
      "SELECT Z_VERSION, Z_UUID, quote(Z_PLIST) FROM Z_METADATA", "SELECT * FROM Z_PRIMARYKEY ORDER BY Z_ENT",
    ]
    let before = try questions.map { try StoreFixtures.rows($0, inFile: file) }

    let task = Build.entity("PoolTask", Build.attribute("name", optional: false))
    let (context, _) = try open(Build.model(task), file, prefix: "WP")
    try context.performAndWait {
      let object = NSManagedObject(entity: task, insertInto: context)
      object.setValue("export", forKey: "name")
      try context.save()
    }

    #expect(try questions.map { try StoreFixtures.rows($0, inFile: file) } == before)
    #expect(try StoreFixtures.rows("SELECT ZNAME FROM WPPOOLTASK", inFile: file) == [["export"]])
    let (again, _) = try open(StoreModels.model(ofStore: store), file)
    #expect(again.persistentStoreCoordinator?.persistentStores.count == 1)
    #expect(try StoreFixtures.rows("PRAGMA integrity_check", inFile: file) == [["ok"]])
  }
}
