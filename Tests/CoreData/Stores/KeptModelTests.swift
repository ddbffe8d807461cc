import CoreDataPostgreSQL
import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Migrations of stores whose old model is in no bundle, and of which no object is left in the process.
@Suite struct KeptModelTests {
  private static let kinds = [StoreKind.file] + (PostgreSQLServer.isInstalled ? [.server] : [])

  /// What is left of a store when its program has ended: its place, and neither its coordinator nor its model.
  private final class Place {
    let kind: StoreKind
    let folder = temporaryURL("kept")
    /// Makes the versions of this store's model others than those of tests that run at the same time.
    private let modifier = UUID().uuidString
    var url: URL { kind.place(folder.appendingPathComponent("store")) }

    /// A store with one object.
    init(_ kind: StoreKind) throws {
      self.kind = kind
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let coordinator = try open(model("note"), nil)
      try write("first", to: "note", coordinator)
      try coordinator.remove(coordinator.persistentStores[0])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The model of the store, in which the entity's attribute has this name now.
    func model(_ name: String) -> NSManagedObjectModel {
      let attribute = LibraryModel.attribute(name, .stringAttributeType)
      attribute.renamingIdentifier = "note"
      let entity = LibraryModel.entity("OnlyHere", [attribute])
      entity.versionHashModifier = modifier
      let model = NSManagedObjectModel()
      model.entities = [entity]
      return model
    }

    func open(
      _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = LibraryMigration.options()
    ) throws -> NSPersistentStoreCoordinator {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url, options: options)
      return coordinator
    }

    func write(_ value: String, to name: String, _ coordinator: NSPersistentStoreCoordinator) throws {
      let context = coordinator.context()
      try context.performAndWait {
        context.make("OnlyHere", [name: value])
        try context.save()
      }
    }

    func values(_ name: String, _ coordinator: NSPersistentStoreCoordinator) throws -> [String?] {
      let context = coordinator.context()
      return try context.performAndWait { try context.all("OnlyHere", sort: name).map { $0.text(name) } }
    }

    /// Makes it a store of a program that kept no model.
    func forgetModel() throws {
      try run("DROP TABLE Z_MODELCACHE", "ALTER TABLE \(table) DROP COLUMN model")
    }

    func run(_ file: String, _ server: String) throws {
      if kind == .file {
        _ = try StoreFixtures.rows(file, inFile: url)
      } else {
        try PostgreSQLServer.shared.psql(server)
      }
    }

    /// The table of a store at a server with its copy of the model.
    var table: String {
      let schema = url.absoluteString.components(separatedBy: "schema=").last ?? ""
      return "\(schema)._store"
    }
  }

  @Test(arguments: kinds)
  func aStoreIsMigratedFromTheModelThatItKeepsAndKeepsTheNewOne(kind: StoreKind) throws {
    let place = try Place(kind)
    do {
      let coordinator = try place.open(place.model("remark"))
      try #expect(place.values("remark", coordinator) == ["first"])
      try place.write("second", to: "remark", coordinator)
      try coordinator.remove(coordinator.persistentStores[0])
    }
    try #expect(place.values("comment", place.open(place.model("comment"))) == ["first", "second"])
  }

  @Test(arguments: kinds)
  func aStoreThatKeepsNoModelIsMigratedFromOneInUseAndKeepsTheNewOne(kind: StoreKind) throws {
    let place = try Place(kind)
    try place.forgetModel()
    expectError(NSMigrationMissingSourceModelError) { try place.open(place.model("remark")) }
    do {
      let old = try place.open(place.model("note"), nil)
      try #expect(place.values("remark", place.open(place.model("remark"))) == ["first"])
      withExtendedLifetime(old) {}
    }
    // A file of a framework that made no table for the copy gets none.
    if kind == .server {
      try #expect(place.values("comment", place.open(place.model("comment"))) == ["first"])
    }
  }

  @Test(arguments: kinds)
  func aDamagedCopyIsPassedOver(kind: StoreKind) throws {
    let place = try Place(kind)
    try place.run(
      "UPDATE Z_MODELCACHE SET Z_CONTENT = x'0102'", "UPDATE \(place.table) SET model = '\\x0102'")
    expectError(NSMigrationMissingSourceModelError) { try place.open(place.model("remark")) }
    let old = try place.open(place.model("note"), nil)
    try #expect(place.values("remark", place.open(place.model("remark"))) == ["first"])
    withExtendedLifetime(old) {}
  }
}
