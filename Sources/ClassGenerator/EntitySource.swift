import ModelFiles

/// The class or extension of one entity.
struct EntitySource {
  let entity: ModelEntity
  let className: SwiftName
  let document: ModelDocument
  private let notes: SwiftNotes
  private let properties: [PropertySource]

  init(_ entity: ModelEntity, className: String, in document: ModelDocument) throws(ManagedObjectModelError) {
    self.entity = entity
    self.document = document
    notes = try SwiftNotes(entity, in: document)
    guard let name = SwiftName(className) else {
      throw document.error(
        entity.node, entity: entity.name, "has the class name \(className), which is not a name in Swift")
    }
    self.className = name
    // A property that the superclass has already is inherited, not generated again.
    let inherited = Set(document.line(of: entity).dropFirst().flatMap { $0.properties.map(\.name) })
    var properties: [PropertySource] = []
    for property in entity.properties where !inherited.contains(property.name) {
      properties.append(try PropertySource(property, of: entity, in: document))
    }
    self.properties = properties.sorted(on: { $0.property.name })
  }

  func text() -> String {
    let blocks = [classDefinition, keys, body, identifiable, keyPaths] + properties.compactMap(mutators)
    return blocks.compactMap(\.self).joined(separator: "\n")
  }

  /// The name of the enumeration that holds the entity's keys.
  private var keysName: String { "Keys__\(className.plain)" }

  private var classDefinition: String? {
    guard entity.codeGeneration == .classDefinition else { return nil }
    let superclass = document.className(ofEntity: entity.parentName)
    return notes.docstring(indent: "") + "public class \(className): \(superclass) {}\n"
  }

  private var keys: String? {
    let lines = properties.map(\.keyDeclaration)
    return lines.isEmpty ? nil : "private enum \(keysName) {\n" + lines.map { "  \($0)\n" }.joined() + "}\n"
  }

  private var body: String {
    var members = [
      """
        public class func fetchRequest() -> CoreData.NSFetchRequest<\(className)> {
          CoreData.NSFetchRequest<\(className)>(entityName: \(entity.name.swiftLiteral))
        }

      """
    ]
    members += properties.map { $0.declaration(keys: keysName) }
    return "extension \(className) {\n" + members.joined(separator: "\n") + "}\n"
  }

  /// Xcode makes each class `Identifiable`; subclasses inherit it.
  private var identifiable: String? {
    let ancestors = document.line(of: entity).dropFirst()
    guard ancestors.allSatisfy({ $0.codeGeneration == .manual }) else { return nil }
    if let id = properties.first(where: { $0.property.name == "id" }), !id.isHashable { return nil }
    return "extension \(className): Swift.Identifiable {}\n"
  }

  /// The class's key path table. CoreData finds it when a key path of the class first needs a name; `@usableFromInline`
  /// keeps it in optimised builds.
  private var keyPaths: String? {
    // Swift never reads `\Person.Type` as a property, not even in backticks.
    let named = properties.filter { !["Type", "Protocol"].contains($0.property.name) }
    guard !named.isEmpty else { return nil }
    let lines = named.map { "    \\\(className).\($0.name): \($0.property.name.swiftLiteral),\n" }
    return """
      @usableFromInline enum KeyPaths__\(className.plain): CoreData.ManagedKeyPathTable {
        @usableFromInline static var objectClass: CoreData.NSManagedObject.Type { \(className).self }
        @usableFromInline static var keyPaths: [Swift.AnyKeyPath: Swift.String] { [
      \(lines.joined())  ] }
      }

      """
  }

  private func mutators(of property: PropertySource) -> String? {
    guard let mutators = property.mutators else { return nil }
    return "extension \(className) {\n\(mutators)}\n"
  }
}

extension ModelDocument {
  /// The class of an entity's objects, by the name that code in the module uses.
  func className(ofEntity name: String?) -> String {
    guard let entity = name.flatMap({ self[$0] }), let represented = entity.representedClassName,
      let className = entity.className
    else { return "CoreData.NSManagedObject" }
    if entity.codeGeneration == .manual, !entity.isInProductModule, represented != className { return represented }
    return SwiftName(className)?.description ?? className
  }
}
