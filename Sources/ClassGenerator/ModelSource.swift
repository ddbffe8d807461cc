import ModelFiles

/// The Swift file of one model: the classes and extensions that Xcode generates.
struct ModelSource {
  let document: ModelDocument
  let name: String

  init(_ document: ModelDocument, name: String) {
    self.document = document
    self.name = name
  }

  /// - Throws: `ManagedObjectModelError` for names that Swift or `NSManagedObject` does not allow.
  func text() throws(ManagedObjectModelError) -> String {
    var parts = [
      """
      // Made from \(name) by ModelCompiler. Do not edit: change the model.

      public import CoreData

      """
    ]
    var owners: [String: String] = [:]
    for entity in document.entities where entity.codeGeneration != .manual {
      guard let className = entity.className else {
        throw document.error(
          entity.node, entity.name, "has no class of its own to generate: set its class, or code generation to manual")
      }
      if let owner = owners.updateValue(entity.name, forKey: className) {
        throw document.error(
          entity.node, entity.name,
          "has the class \(className), which is generated for \(owner) already: set its code generation to manual")
      }
      parts.append(try EntitySource(entity, className: className, in: document).text())
    }
    return parts.joined(separator: "\n")
  }
}
