import Foundation
import ModelFiles

/// A package with a module for each model of the fixtures, whose entities all have generated classes, and a program
/// that uses every class.
struct FixturePackage {
  let folder: URL
  private let models: [FixtureModel]
  private let workerpool: URL

  init(models folder: URL, workerpool: URL, in destination: URL) throws {
    self.folder = destination
    self.workerpool = workerpool
    models = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "xcdatamodeld" }.sorted { $0.path < $1.path }.map(FixtureModel.init)
  }

  var modelCount: Int { models.count }
  var concreteEntityCount: Int { models.map(\.concreteEntities.count).reduce(0, +) }

  func write() throws {
    try write(manifest, to: "Package.swift")
    try write(Self.support, to: "Sources/Support/Support.swift")
    try write(program, to: "Sources/Check/main.swift")
    for model in models {
      let sources = "Sources/\(model.module)"
      try write(model.checks, to: "\(sources)/Checks.swift")
      try model.copy(to: folder.appendingPathComponent("\(sources)/\(model.module).xcdatamodeld"))
    }
  }

  private func write(_ text: String, to path: String) throws {
    let file = folder.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  private var manifest: String {
    let targets = models.map { model in
      """
          .target(name: "\(model.module)", dependencies: ["Support"], plugins: [
            .plugin(name: "ModelCompilerPlugin", package: "workerpool")]),

      """
    }
    let modules = models.map { "\"\($0.module)\"" }.joined(separator: ", ")
    return """
      // swift-tools-version: 6.1
      import PackageDescription
      let package = Package(
        name: "FixtureClasses",
        dependencies: [.package(name: "workerpool", path: "\(workerpool.path)")],
        targets: [
          .target(name: "Support", dependencies: [.product(name: "CoreData", package: "workerpool")]),
      \(targets.joined())    .executableTarget(name: "Check", dependencies: ["Support", \(modules)]),
        ])
      """
  }

  private var program: String {
    """
    import Support
    \(models.map { "import \($0.module)" }.joined(separator: "\n"))

    var entities = 0
    \(models.map { "entities += try \($0.module).Checks.run()" }.joined(separator: "\n"))
    print("\(models.count) models, \\(entities) concrete entities made, saved and fetched through their classes")
    """
  }

  private static let support = """
    @_exported import CoreData

    /// Ends the program where something is not as it should be.
    public func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
      if !condition { fatalError(what()) }
    }

    /// A container on a store in memory.
    public func container(_ name: String) -> NSPersistentContainer {
      let container = NSPersistentContainer(name: name)
      container.persistentStoreDescriptions = [NSPersistentStoreDescription()]
      container.loadPersistentStores { _, error in if let error { fatalError("\\(name): \\(error)") } }
      return container
    }

    extension NSManagedObject {
      /// Gives the object the values and relations that it cannot be saved without.
      public func relate(depth: Int = 0) {
        guard let context = managedObjectContext, depth < 8 else { return }
        fill(number: depth + 100)
        for (name, relationship) in entity.relationshipsByName where !relationship.isOptional {
          guard objectIDs(forRelationshipNamed: name).isEmpty, let destination = relationship.destinationEntity
          else { continue }
          let entity = destination.isAbstract ? destination.subentities[0] : destination
          for _ in 0..<max(1, relationship.minCount) {
            let object = NSEntityDescription.insertNewObject(forEntityName: entity.name!, into: context)
            if relationship.isToMany { addObject(object, toRelationship: name) } else { setValue(object, forKey: name) }
            object.relate(depth: depth + 1)
          }
        }
      }

      /// Gives mandatory attributes a value.
      private func fill(number: Int) {
        for (name, attribute) in entity.attributesByName where !attribute.isOptional && value(forKey: name) == nil {
          switch attribute.attributeType {
          case .stringAttributeType: setValue("text \\(number)", forKey: name)
          case .dateAttributeType: setValue(Date(timeIntervalSinceReferenceDate: Double(number)), forKey: name)
          case .binaryDataAttributeType: setValue(Data([UInt8(number)]), forKey: name)
          case .UUIDAttributeType: setValue(UUID(), forKey: name)
          case .URIAttributeType: setValue(URL(string: "a:b"), forKey: name)
          case .decimalAttributeType: setValue(NSDecimalNumber(value: number), forKey: name)
          case .transformableAttributeType: setValue("text" as NSString, forKey: name)
          default: setValue(NSNumber(value: number), forKey: name)
          }
        }
      }
    }
    """
}
