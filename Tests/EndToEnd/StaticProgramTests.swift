import Foundation
import TestFiles
import Testing

/// Programs that bring Swift and Foundation along (`--static-swift-stdlib`), as packages do.
@Suite struct StaticProgramTests {
  /// A static link takes from Foundation's archive only what the program names, and this is easily too little.
  @Test(.timeLimit(.minutes(20))) func aStaticProgramOpensStores() throws {
    // Given a program, linked statically with the modules that the build has made
    let place = try TestPlace()
    let program = place.path("program")
    let source = try place.write(Self.program, to: "main.swift")
    let linked = try run(
      "/usr/bin/env",
      ["swiftc", "-static-stdlib", source, "-o", program, "-module-cache-path", place.path("modules")]
        + ["-I", Built.directory + "/Modules"] + Self.moduleMaps() + Self.objects() + ["-lsqlite3", "-lz"])
    try #require(linked.code == 0, "\(linked.errors)")
    // When it makes stores and casts the values that Foundation bridges
    let isServerInstalled = PostgreSQLServer.isInstalled
    let server = isServerInstalled ? [PostgreSQLServer.shared.url(schema: "static").absoluteString] : []
    let finished = try run(program, [place.url.path] + server)
    // Then it can
    let stores = ["SQLite: 1", "XML: 1", "Binary: 1"] + (isServerInstalled ? ["PostgreSQL: 1"] : [])
    #expect(finished.lines == stores + ["bridged: true true true true true true true true"], "\(finished)")
    // And nothing of Swift is loaded
    let libraries = try run("/usr/bin/env", ["ldd", program]).output
    #expect(libraries.contains("libsqlite3") && !libraries.contains("libswift") && !libraries.contains("libFoundation"))
    #expect(!libraries.contains("libpq"))
  }

  /// Loading libpq and what it needs costs a program's start 20 ms and more, and most use no server.
  @Test(arguments: ["workerpool", "workerpool-web", "worker-exec"])
  func aProgramIsNotLinkedWithTheClientOfAServer(program: String) throws {
    let libraries = try run("/usr/bin/env", ["ldd", Built.directory + "/" + program]).output
    #expect(libraries.contains("libsqlite3") && !libraries.contains("libpq"))
  }

  private static let program = """
    import CoreDataPostgreSQL
    import FoundationXML

    let attribute = NSAttributeDescription()
    attribute.name = "name"
    attribute.attributeType = .stringAttributeType
    let entity = NSEntityDescription()
    entity.name = "Item"
    entity.properties = [attribute]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    model.versionIdentifiers = ["one"]
    var places = [NSSQLiteStoreType, NSXMLStoreType, NSBinaryStoreType].map {
      (type: $0, url: URL(fileURLWithPath: CommandLine.arguments[1] + "/" + $0))
    }
    if let server = CommandLine.arguments.dropFirst(2).first.flatMap(URL.init(string:)) {
      places.append((NSPostgreSQLStoreType, server))
    }
    for (type, url) in places {
      for isFirst in [true, false] {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: nil)
        let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        if isFirst {
          NSManagedObject(entity: entity, insertInto: context).setValue("x", forKey: "name")
          try context.save()
        } else {
          print("\\(type): \\(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Item")))")
        }
      }
    }
    let values: [Any] = [
      ["a"], Set([1]), ["a": 1], Decimal(1), IndexPath(index: 1), URLComponents(), DateComponents(), DateInterval(),
    ]
    print("bridged:", values.map { String($0 is NSObject) }.joined(separator: " "))
    """

  private static let modules = ["CoreData", "CoreDataPostgreSQL", "ModelFiles", "ObjectIdentity", "LinuxSystem"]

  /// The object files of the modules that the tests link. Removed sources have left others.
  private static func objects() throws -> [String] {
    let list = Built.directory + "/workerpoolPackageTests.product/Objects.LinkFileList"
    return try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { path in modules.contains { path.contains("/\($0).build/") } }
  }

  /// Where the compiler finds the C modules that the Swift modules import.
  private static func moduleMaps() throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let sources = root.appendingPathComponent("Sources").path
    return try FileManager.default.contentsOfDirectory(atPath: sources)
      .filter { FileManager.default.fileExists(atPath: "\(sources)/\($0)/module.modulemap") }
      .flatMap { ["-I", "\(sources)/\($0)"] }
  }
}
