import CoreData
import Foundation
import LinuxSystem

let exampleCommand = CommandDescription(
  name: "example", summary: "Write a small model and data to try the commands with",
  discussion: """
    Writes App.xcdatamodeld, the model of an app with countries, photos and documents, countries.csv and photos.csv.
    With --store, it also makes a store as the app would have made it, with the countries in it. It replaces no file.

      workerpool example
      workerpool run --workers 2 --store app.sqlite --model App.xcdatamodeld --queue queue/
    """,
  operands: [
    Operand(name: "DIR", help: "an existing directory; without it, the current one", isOptional: true)
  ],
  options: [CommandOption(name: "store", value: "FILE", help: "make this store, in DIR, with three countries")],
  run: { arguments in
    let example = ExampleFiles(directory: arguments.operands.first ?? ".", store: arguments.string("store"))
    for path in try example.write() { Output.line(path) }
    return .success
  })

/// The files of `workerpool example`.
private struct ExampleFiles {
  let directory: String
  /// The name of the store; nil for none.
  let store: String?

  private static let model = "App.xcdatamodeld"
  private static let tables = [
    ("countries.csv", PackageResources.countries_csv), ("photos.csv", PackageResources.photos_csv),
  ]

  /// - Returns: the paths that were written.
  /// - Throws: `UsageError` when one of them is there already; then nothing is written.
  func write() throws -> [String] {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw UsageError("\(directory) is not a directory")
    }
    let paths = ([Self.model] + Self.tables.map(\.0) + [store].compactMap(\.self)).map(path)
    let exampleFiles = Set(
      ([Self.model] + Self.tables.map(\.0)).map { URL(fileURLWithPath: path($0)).standardizedFileURL })
    if let store {
      let place = URL(fileURLWithPath: path(store)).standardizedFileURL
      if exampleFiles.contains(place) {
        throw UsageError("\(store) is another file of the example; choose another name")
      }
      let folder = place.deletingLastPathComponent().path
      guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue else {
        throw UsageError("\(folder) is not a directory; make it first")
      }
    }
    if let present = paths.first(where: { FileManager.default.fileExists(atPath: $0) }) {
      throw UsageError("\(present) is there already; choose another directory")
    }
    let version = "\(paths[0])/App.xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try ReplacingFile.write(PackageResources.model_xml, to: "\(version)/contents", mode: 0o644, surviving: .processes)
    for (name, bytes) in Self.tables {
      try ReplacingFile.write(bytes, to: path(name), mode: 0o644, surviving: .processes)
    }
    if let store { try makeStore(at: path(store)) }
    return paths
  }

  private func path(_ name: String) -> String {
    directory == "." || name.hasPrefix("/") ? name : "\(directory)/\(name)"
  }

  private func makeStore(at path: String) throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: self.path(Self.model)))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: URL(fileURLWithPath: path))
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let rows = String(decoding: PackageResources.countries_csv, as: UTF8.self).split(separator: "\n").dropFirst()
    try context.performAndWait {
      for row in rows {
        let fields = row.split(separator: ",").map(String.init)
        let country = NSEntityDescription.insertNewObject(forEntityName: "Country", into: context)
        country.setValue(fields[0], forKey: "code")
        country.setValue(fields[1], forKey: "name")
      }
      try context.save()
    }
  }
}
