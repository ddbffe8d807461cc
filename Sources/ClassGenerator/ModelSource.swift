import ModelFiles

/// The Swift file of one model: the classes and extensions that Xcode generates.
struct ModelSource {
  let document: ModelDocument
  let name: String
  /// The compiled model if it becomes part of the code; else nil.
  private let embeddedText: String?

  init(_ document: ModelDocument, name: String, embedding text: String? = nil) {
    self.document = document
    self.name = name
    embeddedText = text
  }

  /// - Throws: `ManagedObjectModelError` for names that Swift or `NSManagedObject` does not allow.
  func text() throws(ManagedObjectModelError) -> String {
    var parts: [String] = []
    var owners: [String: String] = [:]
    for entity in document.entities where entity.codeGeneration != .manual {
      guard let className = entity.className else {
        throw document.error(
          entity.node, entity: entity.name,
          "has no class of its own to generate: set its class, or code generation to manual")
      }
      if let owner = owners.updateValue(entity.name, forKey: className) {
        throw document.error(
          entity.node, entity: entity.name,
          "has the class \(className), which is generated for \(owner) already: set its code generation to manual")
      }
      parts.append(try EntitySource(entity, className: className, in: document).text())
    }
    if let embedded = try embedded() { parts.append(embedded) }
    let origin = "// Made from \(name) by ModelCompiler. Do not edit: change the model.\n"
    // The compiler warns of a public import that nothing needs.
    if parts.isEmpty { return origin }
    return ([origin, "public import CoreData\n"] + parts).joined(separator: "\n")
  }

  private func embedded() throws(ManagedObjectModelError) -> String? {
    guard let embeddedText else { return nil }
    guard let name = SwiftName(name.prefix(1).lowercased() + name.dropFirst()) else {
      throw ManagedObjectModelError(document.file, "has the model name \(name), which is not a name in Swift")
    }
    return """
      extension CoreData.EmbeddedModel {
        /// The model \(self.name), which is part of this module's code.
        static let \(name) = CoreData.EmbeddedModel(
          name: \(self.name.swiftLiteral), text: \(embeddedText.rawSwiftLiteral))
      }

      """
  }
}
