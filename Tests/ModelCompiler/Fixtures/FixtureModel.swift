import Foundation
import ModelFiles

/// One model of the fixtures, changed so that every entity of its current version gets a generated class.
struct FixtureModel {
  let module: String
  private let source: URL
  private let current: URL
  private let document: ModelDocument

  init(_ source: URL) throws {
    self.source = source
    module = source.deletingPathExtension().lastPathComponent.replacingOccurrences(of: "-", with: "_")
      .replacingOccurrences(of: ".", with: "_")
    let file = try ModelFile(source)
    current = file.version
    document = try file.document()
  }

  var concreteEntities: [ModelEntity] { document.entities.filter { !$0.isAbstract } }

  /// Copies all versions; the current one gets code generation "class" for all entities.
  func copy(to destination: URL) throws {
    try FileManager.default.createDirectory(
      at: destination.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: source, to: destination)
    let version = destination.appendingPathComponent(current.lastPathComponent)
    try? FileManager.default.removeItem(at: version.appendingPathComponent("elements"))
    try CompiledModel.xml(changed(document.root)).write(to: version.appendingPathComponent("contents"))
  }

  private func changed(_ node: ModelNode) -> ModelNode {
    var attributes = node.attributes
    switch node.name {
    case "entity":
      let entity = document[attributes["name"] ?? ""]
      // A class of another module would need that module, so it stays as its author wrote it.
      let represented = entity?.representedClassName ?? attributes["name"] ?? ""
      attributes["representedClassName"] =
        represented.dropFirst().contains(".") ? ".\(entity?.className ?? "")" : represented
      attributes["codeGenerationType"] = "class"
    case "attribute" where attributes["attributeType"] == "Transformable":
      // The app has their transformers and classes, the fixture does not.
      attributes["optional"] = "YES"
    default: break
    }
    let copy = ModelNode(name: node.name, attributes: attributes)
    for child in node.children { copy.append(changed(child)) }
    return copy
  }

  // MARK: The module's code

  /// Code that creates, saves and fetches an object of each concrete class, and reads and writes every attribute.
  var checks: String {
    """
    import Support

    \(ownClasses.map { "public final class \($0): NSObject {}\n" }.joined())
    public enum Checks {
      public static func run() throws -> Int {
        let context = container("\(module)").newBackgroundContext()
        try context.performAndWait {
    \(concreteEntities.enumerated().map { check($1, number: $0) }.joined())    }
        return \(concreteEntities.count)
      }
    }
    """
  }

  /// Classes of transformable values that the app supplies.
  private var ownClasses: [String] {
    let names = document.entities.flatMap(\.properties).compactMap { property in
      if case .attribute(let attribute) = property.kind { attribute.customClassName } else { nil }
    }
    return Set(names).subtracting(["NSAttributedString"]).sorted()
  }

  private func check(_ entity: ModelEntity, number: Int) -> String {
    let name = entity.className ?? entity.name
    let samples = document.line(of: entity).flatMap(\.properties).compactMap { property in
      sample(property, number: number).map { (property.name, $0) }
    }
    let toManys = document.line(of: entity).flatMap(\.properties).compactMap(emptyAdd)
    let isSame = samples.map { "$0.\($0) == \($1)" }.joined(separator: " && ").nonEmpty ?? "$0.isFault"
    return """
          do {
            let object = \(name)(context: context)
      \(samples.map { "      object.\($0) = \($1)\n" }.joined())\(toManys.joined())      object.relate()
            try context.save()
            context.reset()
            let request: NSFetchRequest<\(name)> = \(name).fetchRequest()
            request.includesSubentities = false
            let all = try context.fetch(request)
            expect(!all.isEmpty && type(of: all[0]) == \(name).self, "\(module).\(name)")
            expect(\(name).entity().name == "\(entity.name)", "\(module).\(name).entity()")
            let same = all.filter { \(isSame) }
            expect(!same.isEmpty, "\(module).\(name) came back otherwise")
          }

      """
  }

  private func emptyAdd(_ property: ModelProperty) -> String? {
    guard case .relationship(let relationship) = property.kind, relationship.isToMany else { return nil }
    let add = "addTo\(property.name.prefix(1).uppercased())\(property.name.dropFirst())"
    return "      object.\(add)(\(relationship.isOrdered ? "NSOrderedSet" : "NSSet")())\n"
  }

  /// An expression of the attribute's type within its limits; nil if the store sets the attribute, or nothing does.
  private func sample(_ property: ModelProperty, number: Int) -> String? {
    guard case .attribute(let attribute) = property.kind, !attribute.isDerived, !property.isTransient else {
      return nil
    }
    let least = attribute.minimum.map { NSDecimalNumber(decimal: $0).intValue } ?? number + 1
    let value = max(least, min(number + 1, attribute.maximum.map { NSDecimalNumber(decimal: $0).intValue } ?? .max))
    let isScalar = attribute.usesScalarValueType
    switch attribute.type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return isScalar ? "\(value)" : "NSNumber(value: \(value))"
    case .doubleAttributeType, .floatAttributeType: return isScalar ? "\(value)" : "NSNumber(value: \(value))"
    case .booleanAttributeType: return isScalar ? "true" : "NSNumber(value: true)"
    case .decimalAttributeType: return "NSDecimalNumber(value: \(value))"
    case .stringAttributeType:
      return attribute.pattern == nil ? "\"\(String(repeating: "b", count: value))\"" : "\"b\""
    case .dateAttributeType: return isScalar ? "\(value)" : "Date(timeIntervalSinceReferenceDate: \(value))"
    case .binaryDataAttributeType: return "Data([\(number % 256), 1])"
    case .UUIDAttributeType: return "UUID(uuidString: \"6BA7B810-9DAD-11D1-80B4-00C04FD430C8\")"
    case .URIAttributeType: return "URL(string: \"https://example.org/\(number)\")"
    default: return nil
    }
  }
}

extension String {
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
